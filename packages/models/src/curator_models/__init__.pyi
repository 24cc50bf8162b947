# Generated from the package's list of public names: run `hatch run generate`.
from curator_models.batching import MicroBatches as MicroBatches
from curator_models.batching import TooLongError as TooLongError
from curator_models.endpoints import ChatEndpoint as ChatEndpoint
from curator_models.endpoints import EndpointError as EndpointError
from curator_models.endpoints import NoAnswerError as NoAnswerError
from curator_models.hub import ModelError as ModelError
from curator_models.hub import ModelSource as ModelSource
from curator_models.rate_limit import RateLimiter as RateLimiter
from curator_models.weights import PackagedFile as PackagedFile
from curator_models.weights import WeightsFile as WeightsFile

__all__ = [
    "ChatEndpoint",
    "EndpointError",
    "MicroBatches",
    "ModelError",
    "ModelSource",
    "NoAnswerError",
    "PackagedFile",
    "RateLimiter",
    "TooLongError",
    "WeightsFile",
]
