"""The least that can be done with Ray: start it, and call one actor once. WORK SETTINGS BEGUN."""

import ray
from telling import Account


@ray.remote(num_cpus=0)
class Answering:
    def answer(self) -> int:
        return 42


def main() -> None:
    account = Account()
    ray.init(address="local", include_dashboard=False, log_to_driver=False, configure_logging=False)
    account.note("cluster_up")
    assert ray.get(Answering.remote().answer.remote()) == 42
    account.tell()


if __name__ == "__main__":
    main()
