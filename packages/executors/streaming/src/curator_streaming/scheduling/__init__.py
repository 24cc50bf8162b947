"""The scheduler: events in, actions out. No Ray, no threads, no clock of its own.

A driver makes `Scheduler(steps_of(plan stages), Settings(...))`, hands everything that happens to
`handle(events)`, does what the returned actions say, in order, and ends when `is_over`. `is_done`
says that no work is left. `summary()` tells what workers did and waited for.
"""
