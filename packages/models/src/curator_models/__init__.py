"""Common parts of stages with models. Importing this loads neither torch nor transformers."""

from curator_core.plugins.exports import lazy_exports

EXPORTS = {
    "curator_models.batching": (
        "MicroBatches",
        "TooLongError",
    ),
    "curator_models.endpoints": (
        "ChatEndpoint",
        "EndpointError",
        "NoAnswerError",
    ),
    "curator_models.hub": (
        "ModelError",
        "ModelSource",
    ),
    "curator_models.rate_limit": ("RateLimiter",),
    "curator_models.weights": (
        "PackagedFile",
        "WeightsFile",
    ),
}

__all__, __getattr__, __dir__ = lazy_exports(__name__, EXPORTS)
