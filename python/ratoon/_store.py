"""How data and checkpoints that are elsewhere are reached."""
import dataclasses


@dataclasses.dataclass(frozen=True)
class StoreOptions:
    """Of s3://, http:// and https:// places. The defaults are those of the C++ library (ratoon/store_options.h): credentials
    and endpoint are found where boto3 finds them.

    >>> import ratoon
    >>> ratoon.StoreOptions(endpoint="https://minio.team-a:9000", region="eu-central-1").attempts_max
    8
    """

    endpoint: str = ""
    region: str = ""
    uses_path_style: bool | None = None
    profile: str = ""
    is_anonymous: bool = False
    ca_file: str = ""
    connect_seconds: float = 5
    silence_seconds: float = 30
    object_seconds: float = 300
    attempts_max: int = 8
