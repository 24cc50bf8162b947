"""The scheduler: events in, actions out. It uses no Ray, no threads and no clock.

A driver creates `Scheduler(plan_steps(stages), Settings(...))`, passes everything that happens to
`handle(events)`, carries out the returned actions in order, and ends when `is_over`. Tests drive it
with a simulated cluster.

    core.py            Scheduler: passes each event to the parts below
    events.py          what happened: nodes, workers, calls, sources, time
    actions.py         what the driver has to do
    settings.py        limits and intervals
    resources.py       what a worker needs, what a node has, in exact units
    steps.py           which stages run in one call
    blocks.py          stored tasks, by reference
    queues.py          tasks waiting for a step, by node
    state.py           nodes, steps, worker pools, workers and calls at this moment
    budget.py          bytes in use, and their limits
    dispatch.py        which worker runs which tasks, and how many per call
    backpressure.py    room for outputs, paused calls, requests for sources
    generators.py      pausing generators that hold up later steps
    placement.py       where a worker fits
    allocation.py      how many workers each step should have (max-min fair)
    autoscale.py       moves the dedicated workers towards that allocation
    shared_workers.py  how many shared workers run, and the spare one
    lifecycle.py       starting and stopping workers
    recycling.py       replacing workers that are old or grew
    stage_setup.py     setup times and failures, and nodes excluded after them
    faults.py          work of dead workers, steps that no node can hold
    stats.py           how busy workers were, and the bottleneck
"""
