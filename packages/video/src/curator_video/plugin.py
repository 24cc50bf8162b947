"""Plugin hooks: the stages, commands and reports of curator-video."""

from curator_core.plugins.hookspecs import hookimpl

_FILTERS = "curator_video.filters"
_CAPTIONING = "curator_video.captioning"


@hookimpl
def curator_reports() -> dict[str, str]:
    return {"video.clips": "curator_video.reporting.exhibits:clips"}


@hookimpl
def curator_commands() -> dict[str, str]:
    return {"video.report": "curator_video.reporting.commands:report"}


@hookimpl
def curator_stages() -> dict[str, str]:
    return {
        "video.aesthetic_filter": f"{_FILTERS}.models:AestheticFilter",
        "video.black_filter": f"{_FILTERS}.pictures:BlackFilter",
        "video.blur_filter": f"{_FILTERS}.pictures:BlurFilter",
        "video.duration_filter": f"{_FILTERS}.shapes:DurationFilter",
        "video.freeze_filter": f"{_FILTERS}.pictures:FreezeFilter",
        "video.nsfw_filter": f"{_FILTERS}.models:NSFWFilter",
        "video.text_area_filter": f"{_FILTERS}.models:TextAreaFilter",
        "video.caption_enhancer": f"{_CAPTIONING}.local:CaptionEnhancer",
        "video.clip_captioner": f"{_CAPTIONING}.local:ClipCaptioner",
        "video.endpoint_caption_enhancer": f"{_CAPTIONING}.endpoints:EndpointCaptionEnhancer",
        "video.endpoint_clip_captioner": f"{_CAPTIONING}.endpoints:EndpointClipCaptioner",
        "video.clip_previewer": "curator_video.previewing:ClipPreviewer",
        "video.clip_embedder": "curator_video.embedding.frames:ClipEmbedder",
        "video.video_model_embedder": "curator_video.embedding.clips:VideoModelEmbedder",
        "video.motion_filter": f"{_FILTERS}.motion:MotionFilter",
        "video.resolution_filter": f"{_FILTERS}.shapes:ResolutionFilter",
        "video.histogram_shot_splitter": "curator_video.splitting.shots:HistogramShotSplitter",
        "video.scene_detect_shot_splitter": (
            "curator_video.splitting.borrowing:SceneDetectShotSplitter"
        ),
        "video.trans_net_shot_splitter": "curator_video.splitting.learned:TransNetShotSplitter",
        "video.clip_shard_writer": "curator_video.writing.tars:ClipShardWriter",
        "video.clip_writer": "curator_video.writing.stages:ClipWriter",
        "video.clip_cutter": "curator_video.cutting.stages:ClipCutter",
        "video.fixed_stride_splitter": "curator_video.splitting.stride:FixedStrideSplitter",
        "video.video_reader": "curator_video.reading:VideoReader",
    }
