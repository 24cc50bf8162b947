"""What is imported while Ray starts, and not afterwards."""

from typing import Any

Script = Any


def test_the_first_call_imports_nothing_large(script: Script) -> None:
    text = """
        import sys
        import ray
        from curator_ray.connecting import connected

        with connected():
            before = set(sys.modules)
            ray.get(ray.put(1))
            new = sorted({name.partition(".")[0] for name in set(sys.modules) - before})
            print([name for name in new if name in ("numpy", "pyarrow", "pydantic")])
        """
    said, errors = script(text).communicate(timeout=90)

    assert said.splitlines() == ["[]"], errors


def test_ray_is_given_a_class_that_is_exported_at_once() -> None:
    import dis
    import io

    from curator_ray.actors import StageActor, StageHost

    told = io.StringIO()
    dis.dis(StageActor, file=told)

    assert told.getvalue() == ""
    assert StageActor.__ray_shutdown__ is StageHost.end


def test_what_drives_a_run_is_there_when_ray_is(script: Script) -> None:
    text = """
        import sys
        from curator_core import Pipeline, ProcessingStage, Task
        from curator_streaming.executor import StreamingExecutor

        class Same(ProcessingStage):
            def process(self, task):
                return task

        executor = StreamingExecutor()
        plan = Pipeline("x", stages=[Same()]).build(executor, [Task(1)])
        print("curator_streaming.engine.driver" in sys.modules)
        with executor.connected(plan):
            print("curator_streaming.engine.driver" in sys.modules)
        """
    said, errors = script(text).communicate(timeout=90)

    assert said.split() == ["False", "True"], errors
