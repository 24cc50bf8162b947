"""Plugin hooks: the stages, commands and reports of curator-video."""

from curator_core import hookimpl

_FILTERS = "curator_video.filters"
_CAPTIONS = "curator_video.captions"

EXPORTS = {
    "curator_video.analysis.frame_stage": ("FrameStage",),
    "curator_video.analysis.measurements": ("FrameNeeds",),
    "curator_video.analysis.sampling": ("Sampling",),
    "curator_video.filters.base": ("ClipFilter",),
    "curator_video.filters.scoring": ("Filter", "Score", "ScoreFilter"),
    "curator_video.probing": ("AudioFacts", "VideoFacts", "probe"),
    "curator_video.source": ("VideoSource",),
    "curator_video.tasks": ("Clip", "Video"),
}
"""Public names besides what the hooks register, by module."""


@hookimpl
def curator_report_sections() -> dict[str, str]:
    return {"video.clips": "curator_video.report.section:clips"}


@hookimpl
def curator_commands() -> dict[str, str]:
    return {"video.report": "curator_video.commands:report"}


@hookimpl
def curator_stages() -> dict[str, str]:
    return {
        "video.aesthetic_filter": f"{_FILTERS}.models:AestheticFilter",
        "video.black_filter": f"{_FILTERS}.quality:BlackFilter",
        "video.blur_filter": f"{_FILTERS}.quality:BlurFilter",
        "video.duration_filter": f"{_FILTERS}.size:DurationFilter",
        "video.freeze_filter": f"{_FILTERS}.quality:FreezeFilter",
        "video.nsfw_filter": f"{_FILTERS}.models:NSFWFilter",
        "video.text_area_filter": f"{_FILTERS}.models:TextAreaFilter",
        "video.caption_enhancer": f"{_CAPTIONS}.local:CaptionEnhancer",
        "video.clip_captioner": f"{_CAPTIONS}.local:ClipCaptioner",
        "video.endpoint_caption_enhancer": f"{_CAPTIONS}.endpoints:EndpointCaptionEnhancer",
        "video.endpoint_clip_captioner": f"{_CAPTIONS}.endpoints:EndpointClipCaptioner",
        "video.clip_previewer": "curator_video.previews:ClipPreviewer",
        "video.clip_embedder": "curator_video.embeddings.embedders:ClipEmbedder",
        "video.video_model_embedder": "curator_video.embeddings.embedders:VideoModelEmbedder",
        "video.motion_filter": f"{_FILTERS}.motion:MotionFilter",
        "video.resolution_filter": f"{_FILTERS}.size:ResolutionFilter",
        "video.histogram_shot_splitter": "curator_video.scenes.histogram:HistogramShotSplitter",
        "video.scene_detect_shot_splitter": (
            "curator_video.scenes.pyscenedetect:SceneDetectShotSplitter"
        ),
        "video.trans_net_shot_splitter": "curator_video.scenes.transnet:TransNetShotSplitter",
        "video.clip_shard_writer": "curator_video.writers.shard_writer:ClipShardWriter",
        "video.clip_writer": "curator_video.writers.clip_writer:ClipWriter",
        "video.clip_cutter": "curator_video.cutting.cutter:ClipCutter",
        "video.fixed_stride_splitter": "curator_video.fixed_stride:FixedStrideSplitter",
        "video.video_reader": "curator_video.reader:VideoReader",
    }
