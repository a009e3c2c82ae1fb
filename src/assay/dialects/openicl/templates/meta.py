"""Meta templates of models: the texts around a turn of each role, and the chat role of each.

There are three forms: for models that read text (`begin` and `end` for each role), for chat models
(`api_role`), and for raw messages (a list of messages that is merged into the prompt).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, get_args

from assay.core.errors import listing, suggest_name
from assay.core.prompt import Message, Role
from assay.dialects.openicl.templates.template_problems import TemplateFault, describe_value

CHAT_ROLES: Mapping[str, Role] = {"HUMAN": "user", "BOT": "assistant", "SYSTEM": "system"}
"""The dialogue names of the chat roles."""
_KEYS = ("begin", "round", "end", "reserved_roles", "eos_token_id")
_ROLE_KEYS = ("role", "api_role", "begin", "end", "prompt", "generate")


class MetaRole(NamedTuple):
    """How turns of one role are rendered for a model."""

    role: str
    api_role: str
    """The role in a chat: `HUMAN`, `BOT` or `SYSTEM`."""
    begin: str = ""
    end: str = ""
    prompt: str = ""
    """The default text of the role in a round without a turn for it."""
    generate: bool = False
    """Whether the model generates this role's turns."""


class MetaTemplate(NamedTuple):
    """A checked meta template."""

    round: tuple[MetaRole | str, ...] = ()
    """The roles of one round in order, and texts between them."""
    reserved: tuple[MetaRole, ...] = ()
    """Roles outside the rounds."""
    begin: str = ""
    end: str = ""
    opening: Message | None = None
    """The first message of a chat."""
    messages: tuple[Message, ...] = ()
    """Messages to merge into those of the prompt."""

    @property
    def roles(self) -> dict[str, MetaRole]:
        """Return the roles by name."""
        return {one.role: one for one in (*self.round, *self.reserved) if isinstance(one, MetaRole)}

    @property
    def order(self) -> dict[str, int]:
        """Return the position of each role in a round."""
        return {one.role: at for at, one in enumerate(self.round) if isinstance(one, MetaRole)}


_HUMAN, _BOT = MetaRole("HUMAN", "HUMAN"), MetaRole("BOT", "BOT", generate=True)
CHAT_META_TEMPLATE = MetaTemplate((_HUMAN, _BOT), (MetaRole("SYSTEM", "SYSTEM"),))
"""The default for chat models. Both originals use it for services, and AISBench also for local models."""
OPENCOMPASS_LOCAL_CHAT = MetaTemplate((_HUMAN, MetaRole("SYSTEM", "HUMAN"), _BOT))
"""OpenCompass's default for local chat models: system texts become user turns."""


def read_meta_template(given: object, faults: list[TemplateFault]) -> MetaTemplate | None:
    """Read the meta template of a model's config; None if there is none or it is invalid."""
    if not given:
        return None
    before = len(faults)
    if isinstance(given, Sequence) and not isinstance(given, str):
        found = MetaTemplate(messages=tuple(filter(None, (_message(one, faults) for one in given))))
    elif isinstance(given, Mapping):
        found = _read(given, faults)
    else:
        what = f"meta_template is {describe_value(given)}, expected a dict or a list of messages"
        faults.append(TemplateFault(what, "write meta_template=dict(round=[...])"))
        return None
    return found if len(faults) == before else None


def _read(given: Mapping[str, Any], faults: list[TemplateFault]) -> MetaTemplate:
    _check_keys(given, _KEYS, "meta_template", faults)
    if "round" not in given:
        faults.append(
            TemplateFault("meta_template has no 'round'", "write round=[dict(role='HUMAN', ...), ...]")
        )
    rounds = [_role(one, "round", faults) for one in _read_list(given, "round", faults)]
    reserved = [_role(one, "reserved_roles", faults) for one in _read_list(given, "reserved_roles", faults)]
    names = [one.role for one in (*rounds, *reserved) if isinstance(one, MetaRole)]
    for name in dict.fromkeys(name for name in names if names.count(name) > 1):
        faults.append(TemplateFault(f"meta_template has the role {name!r} twice", "keep one of them"))
    begin = given.get("begin") or ""
    opening = _read_opening(begin, faults) if isinstance(begin, Mapping) else None
    return MetaTemplate(
        tuple(one for one in rounds if one is not None),
        tuple(one for one in reserved if isinstance(one, MetaRole)),
        begin="" if isinstance(begin, Mapping) else _text(given, "begin", "meta_template", faults),
        end=_text(given, "end", "meta_template", faults),
        opening=opening,
    )


def _read_list(given: Mapping[str, Any], key: str, faults: list[TemplateFault]) -> Sequence[Any]:
    value = given.get(key, [])
    if isinstance(value, list | tuple):
        return value
    faults.append(
        TemplateFault(
            f"meta_template.{key} is {describe_value(value)}, expected a list", f"write {key}=[...]"
        )
    )
    return ()


def _role(given: object, key: str, faults: list[TemplateFault]) -> MetaRole | str | None:
    of = f"meta_template.{key}"
    if isinstance(given, str) and key == "round":
        return given
    if not isinstance(given, Mapping) or not isinstance(given.get("role"), str):
        what = f"{of} has {describe_value(given)}, expected a dict with a 'role'"
        faults.append(TemplateFault(what, "write dict(role='HUMAN', begin='...', end='...')"))
        return None
    _check_keys(given, _ROLE_KEYS, f"the role {given['role']!r} of {of}", faults)
    api_role = given.get("api_role", given["role"])
    if "api_role" in given and api_role not in CHAT_ROLES:
        what = f"api_role is {api_role!r}, expected one of {listing(CHAT_ROLES)}"
        faults.append(
            TemplateFault(f"{of}: {what}{suggest_name(str(api_role), CHAT_ROLES)}", "write api_role='HUMAN'")
        )
    begin, end, prompt = (_text(given, one, of, faults) for one in ("begin", "end", "prompt"))
    return MetaRole(given["role"], api_role, begin, end, prompt, bool(given.get("generate", False)))


def _read_opening(given: Mapping[str, Any], faults: list[TemplateFault]) -> Message | None:
    role = CHAT_ROLES.get(str(given.get("api_role", given.get("role"))))
    if role is not None and isinstance(given.get("prompt"), str):
        return Message(role, given["prompt"])
    what = (
        f"meta_template.begin is {describe_value(given)}, expected a text or a dict with a role and a prompt"
    )
    faults.append(TemplateFault(what, "write begin=dict(role='SYSTEM', api_role='SYSTEM', prompt='...')"))
    return None


def _message(given: object, faults: list[TemplateFault]) -> Message | None:
    if (
        isinstance(given, Mapping)
        and given.get("role") in get_args(Role)
        and isinstance(given.get("content"), str)
    ):
        return Message(given["role"], given["content"])
    what = f"meta_template has {describe_value(given)}, expected a message with a role and a content"
    faults.append(
        TemplateFault(what, f"write dict(role=..., content=...); the roles are {listing(get_args(Role))}")
    )
    return None


def _check_keys(given: Mapping[str, Any], known: Sequence[str], of: str, faults: list[TemplateFault]) -> None:
    for key in given:
        if key not in known:
            what = f"{of} has the unknown key {key!r}{suggest_name(str(key), known)}"
            faults.append(TemplateFault(what, f"supported: {listing(known)}"))


def _text(given: Mapping[str, Any], key: str, of: str, faults: list[TemplateFault]) -> str:
    value = given.get(key) or ""
    if isinstance(value, str):
        return value
    faults.append(
        TemplateFault(f"{of}.{key} is {describe_value(value)}, expected a text", f"write {key}='...'")
    )
    return ""
