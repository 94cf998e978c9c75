"""Base model and field types shared by all entries."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, WithJsonSchema

SLUG_PATTERN = r"[a-z0-9][a-z0-9.-]*"
Slug = Annotated[str, Field(pattern=rf"^{SLUG_PATTERN}$")]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
SafeUrl = Annotated[str, Field(pattern=r"^(https://|http://(127\.0\.0\.1|localhost)[:/])")]
ServiceUrl = Annotated[str, Field(pattern=r"^(https://|http://(127\.0\.0\.1|localhost)[:/])[^@\s?#]+$")]
"""URL of a service, without user, password and query."""


def _utc(moment: datetime) -> datetime:
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


Moment = Annotated[
    datetime, AfterValidator(_utc), WithJsonSchema({"type": "string", "pattern": r"^\d{4}-\d\d-\d\d"})
]
"""A date, or a date and time; UTC if no time zone is given."""


class Strict(BaseModel):
    """A frozen model that rejects unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)
