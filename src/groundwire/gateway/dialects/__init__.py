"""The dialects: each reads and writes the requests and responses of one chat API."""

from groundwire.gateway.chat.dialect import Dialect
from groundwire.gateway.dialects.chat_completions import ChatCompletions
from groundwire.gateway.dialects.completions import Completions
from groundwire.gateway.dialects.messages import Messages
from groundwire.gateway.dialects.responses import Responses

DIALECTS: tuple[Dialect, ...] = (ChatCompletions(), Completions(), Responses(), Messages())
