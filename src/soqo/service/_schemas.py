"""What the API accepts and returns, and the settings of a plant in the store."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

MAX_DIM = 64
"""The largest number of actuators of a plant: GLIDE keeps a matrix of order d (d + 1) / 2."""

Number = Annotated[float, Field(allow_inf_nan=False, strict=True)]
Vector = Annotated[list[Number], Field(min_length=1, max_length=MAX_DIM)]
Limits = Annotated[list[Number | None], Field(min_length=1, max_length=MAX_DIM)]
Text = Annotated[str, Field(min_length=1, max_length=64)]
Round = Annotated[int, Field(ge=1, le=2**53, strict=True)]
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
Name = Annotated[str, Field(pattern=f"^{NAME.pattern}$", description="letters, digits, . _ -")]


def iso_time(microseconds: int) -> str:
    """Return a time of the store as an ISO 8601 text.

    Examples
    --------
    >>> iso_time(1_000_000)
    '1970-01-01T00:00:01.000Z'
    """
    text = datetime.fromtimestamp(microseconds / 1e6, UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class PlantSettings(_Model):
    """The settings of a plant, which are those of :class:`soqo.Controller`."""

    policy: dict[str, Any] | Text = Field(
        default={"kind": "GLIDE"},
        description="the kind and the arguments of a policy of soqo",
        examples=[{"kind": "GLIDE"}, {"kind": "Guarded", "policy": {"kind": "GLIDE"}}],
    )
    x0: Vector = Field(description="the position of the plant", examples=[[20.0, 20.0]])
    horizon: Annotated[int, Field(ge=1, le=10**9, strict=True)] | None = Field(
        default=None, description="the number of rounds; none for no end"
    )
    seed: Annotated[int, Field(ge=0, le=2**53, strict=True)] = 0
    low: Number | Limits | None = Field(default=None, description="the lowest positions; null entries have no limit")
    high: Number | Limits | None = Field(default=None, description="the highest positions; null entries have no limit")
    rate: Number | Limits | None = Field(default=None, description="the largest steps; null entries have no limit")
    period: Number | Limits | None = Field(
        default=None, description="the period of positions that are angles, such as 360; null entries are no angles"
    )
    switching_weight: Number | Vector | Annotated[list[Vector], Field(max_length=MAX_DIM)] | None = Field(
        default=None, description="the cost of moving, 1/2 (x - x_prev)'W(x - x_prev), in the unit of the readings"
    )
    max_delay: Annotated[int, Field(ge=0, le=1000, strict=True)] = Field(
        default=0, description="the number of rounds by which a reading may be late"
    )
    v_limits: tuple[Number | Limits, Number | Limits] | None = Field(
        default=None, description="the lowest and the highest plausible minimizer"
    )
    actuators: Annotated[list[Text], Field(max_length=MAX_DIM)] | None = Field(
        default=None, description="a name for each actuator"
    )
    units: Text | Annotated[list[Text], Field(max_length=MAX_DIM)] | None = Field(
        default=None, description="the unit of all positions, or one for each actuator"
    )


class NewPlant(PlantSettings):
    """A plant to create."""

    name: Name


class RoundRequest(_Model):
    """The minimizer of a round, and what else is known about it."""

    v: Vector = Field(description="the minimizer, an entry for each actuator", examples=[[21.5, 19.0]])
    forecast: Annotated[list[Vector], Field(min_length=1, max_length=1000)] | None = Field(
        default=None, description="the expected minimizers of the next rounds"
    )
    context: Annotated[list[Number], Field(min_length=1, max_length=MAX_DIM)] | None = Field(
        default=None, description="what is known about this round beside v, such as the weather"
    )
    factor: Annotated[Number, Field(gt=0)] | None = Field(
        default=None, description="what multiplies the hitting cost of this round, such as a price"
    )
    active: Annotated[list[bool], Field(min_length=1, max_length=MAX_DIM)] | None = Field(
        default=None, description="which actuators can move and count; all by default"
    )
    round: Round | None = Field(
        default=None,
        description="the number of the round. With it, the request can be repeated: a round that was played returns "
        "its action again. Without it, every request is a new round.",
    )


class Reading(_Model):
    """The measured cost of a round."""

    y: Number | None = Field(description="the reading; null if there is none", examples=[0.8])
    applied: Vector | None = Field(default=None, description="the position that the plant took, if not x")
    at: Vector | None = Field(default=None, description="where the reading was felt, if the plant follows with a lag")
    unit: Annotated[Number, Field(gt=0)] | None = Field(
        default=None, description="the size of the noise and of the base load relative to other readings"
    )
    covariates: Annotated[list[Number], Field(min_length=1, max_length=MAX_DIM)] | None = Field(
        default=None, description="what is known about the reading, on which its base load may depend"
    )


class EventNote(_Model):
    """Something that an operator should know, from a program beside the plant."""

    kind: Literal["note", "held", "resumed"] = Field(description="held: the plant is silent and keeps its position")
    message: Annotated[str, Field(min_length=1, max_length=500, pattern=r"^[^\x00]*$")]


class Action(_Model):
    """The action of a round."""

    round: int
    x: list[float]


class ReadingAccepted(_Model):
    """A reading that was used, now or before."""

    round: int


class PlantStatus(_Model):
    """Where a plant is."""

    name: str
    state: Literal["new", "running", "waiting", "held", "retired"] = Field(
        description="waiting: the current round waits for its reading; held: silent, by the report of a program"
    )
    round: int = Field(description="the number of rounds begun")
    completed: int = Field(description="the number of rounds whose reading was observed or missed")
    open_rounds: list[int] = Field(description="the rounds that wait for their readings, oldest first")
    x: list[float] = Field(description="the position of the plant")
    v: list[float] | None
    missed: int = Field(description="the number of missed readings")
    alarms: int
    cost: float | None = Field(
        description="the measured cost so far, of readings and of moving; missing ones as the mean"
    )
    follow_cost: float | None = Field(description="what following v would have cost, by the policy's estimate")
    created: str
    last_call: str | None
    settings: dict[str, Any]


class PlantList(_Model):
    """Plants in the order of their names."""

    plants: list[PlantStatus]
    next: str | None = Field(description="the value of `after` for the next page")


class PlayedRound(_Model):
    """A round in the history of a plant."""

    round: int
    time: str
    v: list[float]
    x: list[float]
    y: float | None = None
    applied: list[float] | None = None
    expected: float | None = Field(default=None, description="what the policy expected of the reading, before it came")


class History(_Model):
    """Rounds of a plant, in their order."""

    rounds: list[PlayedRound]
    next: int | None = Field(description="the value of `after` for the next page")


class NotedEvent(_Model):
    """Something that has happened to a plant."""

    time: str
    round: int
    kind: str
    message: str

    @classmethod
    def of(cls, event: Any) -> NotedEvent:
        """Return an event of the store as the API shows it."""
        return cls(time=iso_time(event.time), round=event.round, kind=event.kind, message=event.message)


class EventList(_Model):
    """The last events of a plant, the latest first."""

    events: list[NotedEvent]


class Explanation(_Model):
    """What a plant does and why."""

    text: str


class Problem(BaseModel):
    """A problem document (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str


# ---- queries ---------------------------------------------------------------------------------------------------------

_Limit = Annotated[int, Field(ge=1, le=1000)]


class PlantPage(BaseModel):
    """Which plants to list."""

    after: str = Field(default="", max_length=64, description="list plants behind this name")
    limit: _Limit = 100


class RoundPage(BaseModel):
    """Which rounds to read."""

    after: int | None = Field(default=None, ge=0, le=2**53, description="rounds behind this one")
    last: _Limit | None = Field(default=None, description="the last rounds, instead")
    limit: _Limit = 100


class EventPage(BaseModel):
    """How many events to list."""

    limit: _Limit = 50


# ---- errors ----------------------------------------------------------------------------------------------------------

_MAX_ERRORS = 5
"""So many wrong fields are named."""


def describe_validation(error: ValidationError) -> str:
    """Return which fields of a request are wrong, in a sentence."""
    found = []
    for one in error.errors(include_url=False)[:_MAX_ERRORS]:
        where = ".".join(str(part) for part in one["loc"]) or "the request"
        found.append(f"{where}: {one['msg'][0].lower()}{one['msg'][1:]}{_got(one['input'])}")
    more = error.error_count() - len(found)
    return "; ".join(found) + (f"; and {more} more" if more > 0 else "")


def _got(value: Any) -> str:
    """Return what was given, if it is short; never a part of a large request."""
    if isinstance(value, bool | int | float | str) and len(str(value)) <= 40:
        return f", got {value!r}"
    return ""
