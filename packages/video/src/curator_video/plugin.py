"""What this package adds to Curator."""

from curator_core.hookspecs import hookimpl

_FILTERS = "curator_video.filters"


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
        "video.clip_embedder": "curator_video.embedding.frames:ClipEmbedder",
        "video.video_model_embedder": "curator_video.embedding.clips:VideoModelEmbedder",
        "video.motion_filter": f"{_FILTERS}.motion:MotionFilter",
        "video.resolution_filter": f"{_FILTERS}.shapes:ResolutionFilter",
        "video.histogram_shot_splitter": "curator_video.splitting.shots:HistogramShotSplitter",
        "video.trans_net_shot_splitter": "curator_video.splitting.learned:TransNetShotSplitter",
        "video.clip_shard_writer": "curator_video.writing.tars:ClipShardWriter",
        "video.clip_writer": "curator_video.writing.stages:ClipWriter",
        "video.clip_cutter": "curator_video.cutting.stages:ClipCutter",
        "video.fixed_stride_splitter": "curator_video.splitting.stride:FixedStrideSplitter",
        "video.video_reader": "curator_video.reading:VideoReader",
    }
