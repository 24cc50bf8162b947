"""Goals: what recipes can be made for, and the kind of files that each needs."""

from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["text", "images", "audio", "video"]

GOALS: dict[str, Kind] = {
    "pretraining": "text",
    "sft": "text",
    "images": "images",
    "speech": "audio",
    "video": "video",
}
