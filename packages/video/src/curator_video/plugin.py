"""What this package adds to Curator."""

from curator_core.hookspecs import hookimpl

_FILTERS = "curator_video.filters"


@hookimpl
def curator_stages() -> dict[str, str]:
    return {
        "video.black_filter": f"{_FILTERS}.pictures:BlackFilter",
        "video.blur_filter": f"{_FILTERS}.pictures:BlurFilter",
        "video.duration_filter": f"{_FILTERS}.shapes:DurationFilter",
        "video.freeze_filter": f"{_FILTERS}.pictures:FreezeFilter",
        "video.motion_filter": f"{_FILTERS}.motion:MotionFilter",
        "video.resolution_filter": f"{_FILTERS}.shapes:ResolutionFilter",
        "video.histogram_shot_splitter": "curator_video.splitting.shots:HistogramShotSplitter",
        "video.trans_net_shot_splitter": "curator_video.splitting.learned:TransNetShotSplitter",
        "video.clip_writer": "curator_video.writing.stages:ClipWriter",
        "video.clip_cutter": "curator_video.cutting.stages:ClipCutter",
        "video.fixed_stride_splitter": "curator_video.splitting.stride:FixedStrideSplitter",
        "video.video_reader": "curator_video.reading:VideoReader",
    }
