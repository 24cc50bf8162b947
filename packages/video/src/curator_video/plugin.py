"""What this package adds to Curator."""

from curator_core.hookspecs import hookimpl


@hookimpl
def curator_stages() -> dict[str, str]:
    return {
        "video.histogram_shot_splitter": "curator_video.splitting.shots:HistogramShotSplitter",
        "video.trans_net_shot_splitter": "curator_video.splitting.learned:TransNetShotSplitter",
        "video.clip_writer": "curator_video.writing.stages:ClipWriter",
        "video.clip_cutter": "curator_video.cutting.stages:ClipCutter",
        "video.fixed_stride_splitter": "curator_video.splitting.stride:FixedStrideSplitter",
        "video.video_reader": "curator_video.reading:VideoReader",
    }
