"""The parts of a chat completion that a verifier reads, as models.

Only the verifier ``openai`` imports this file: pydantic comes with its extra.
"""

from typing import Annotated, Any

from pydantic import BaseModel, Field

from groundwire.verify.logprobs import TokenPosition
from groundwire.verify.verifier import TopToken

# Some servers round a logarithm to a little above 0.
_Logprob = Annotated[float, Field(ge=-1e9, le=1e-3, strict=True)]


class ReplyToken(BaseModel):
    """One token, and the logarithm of its probability."""

    token: str
    logprob: _Logprob

    def top_token(self) -> TopToken:
        """The same as verifiers take it."""
        return TopToken(token=self.token, logprob=self.logprob)


class ReplyPosition(ReplyToken):
    """One token of an answer, with the likeliest tokens in its place."""

    top_logprobs: list[ReplyToken] | None = None

    def position(self) -> TokenPosition:
        """The same as verifiers take it."""
        top = tuple(each.top_token() for each in self.top_logprobs or ())
        return TokenPosition(self.top_token(), top)


class ReplyLogprobs(BaseModel):
    """The tokens of an answer."""

    content: list[ReplyPosition] | None = None


class ReplyChoice(BaseModel):
    """One answer."""

    message: dict[str, Any] = {}
    logprobs: ReplyLogprobs | None = None


class ChatReply(BaseModel):
    """A chat completion."""

    choices: list[ReplyChoice] = Field(min_length=1)
    usage: Any = None
