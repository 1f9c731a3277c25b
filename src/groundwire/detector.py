"""The detector, which checks whether sources support an answer and returns a detection.

A finished answer is fed to a stream in one piece, so it has the same result as a streamed answer.
"""

import asyncio
import os
from collections import deque
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from math import inf, nan
from pathlib import Path
from time import perf_counter
from typing import Any, Protocol, Self

from groundwire.detection.example import Example, Source, SourceLike, read_sources, require_text
from groundwire.detection.values import Claim, Detection, DetectorInfo, Score
from groundwire.engine.cache import CacheStats
from groundwire.engine.models import (
    DETECTORS,
    EMBEDDERS,
    ENCODER,
    Manifest,
    companion,
    find_model,
    find_reader,
    verify,
)
from groundwire.engine.reader import Reader
from groundwire.engine.scores import AnswerCalibration
from groundwire.engine.settings import check_for_embedded, is_number, n_threads, require_whole
from groundwire.engine.shared import SharedResources
from groundwire.errors import (
    DetectionError,
    GroundwireError,
    InputError,
    SettingError,
    UnknownModelError,
)
from groundwire.stream import Filters, ScoringSession, Stream

#: Default limit on the size of all caches of a detector together, in megabytes of 1,000,000 bytes.
CACHE_MB = 128.0


class ScoringBackend(Protocol):
    """Interface of a backend: a model, such as a reader, that scores answers.

    Attributes:
        name: Name of the detector in options and results.
        revision: Version of the model.
        operating_points: Name of an operating point → its threshold.
        score: Kind of the scores: probabilities or similarities.
        answers: Calibration that converts the highest P(not supported) in an answer to P(the answer
            is hallucinated); ``None`` if the backend has no such calibration.
        work: Counts of what the model has read so far, by name; empty if nothing is counted.
    """

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def revision(self) -> str: ...  # noqa: D102
    @property
    def operating_points(self) -> Mapping[str, float]: ...  # noqa: D102
    @property
    def score(self) -> Score: ...  # noqa: D102
    @property
    def answers(self) -> AnswerCalibration | None: ...  # noqa: D102
    @property
    def work(self) -> dict[str, int]: ...  # noqa: D102

    def open(  # noqa: D102
        self, sources: Sequence[Source], question: str | None, *, threshold: float, tenant: str
    ) -> ScoringSession: ...


class Detector:
    """Checks answers against their sources. Any number of threads may share a detector."""

    def __init__(
        self,
        backend: ScoringBackend,
        *,
        operating_point: str | float = "balanced",
        min_words: int = 0,
        min_probability: float = 0.0,
        min_pieces: int = 1,
        max_answer_chars: int = 1_000_000,
        threads: int | None = None,
        shared: SharedResources | None = None,
        owns_shared: bool = True,
    ) -> None:
        """Make a detector from a scoring backend; :meth:`load` is the usual way to get one.

        Args:
            backend: The backend that scores answers.
            operating_point: Name of a threshold of the backend, or a threshold in (0, 1].
            min_words: Spans of fewer words are not reported.
            min_probability: Spans with a probability below this number, in [0, 1], are not
                reported. Must be 0 with the similarity detector, which gives no probabilities.
            min_pieces: Lowest number of flagged word pieces (the model's tokens) in the whole
                answer; with fewer, no span is reported. Must be 1 with the similarity detector,
                which flags whole sentences.
            max_answer_chars: Limit on the characters of an answer; a longer answer is refused.
            threads: How many answers of a batch are checked at a time, at least 1; by default one
                for each processor this process may use.
            shared: Threads and caches that the backend uses; ``None`` if the backend needs none.
            owns_shared: Whether closing the detector closes ``shared``.

        Raises:
            SettingError: If the operating point or a limit is outside its range, or the backend
                does not support it.
        """
        self._backend = backend
        require_whole("min_words", min_words, 0)
        if not is_number(min_probability) or not 0 <= min_probability <= 1:
            raise SettingError("min_probability", min_probability, "between 0 and 1")
        if min_probability and backend.score is Score.SIMILARITY:
            raise SettingError("min_probability", min_probability, f"0 with {backend.name}")
        require_whole("min_pieces", min_pieces, 1)
        if min_pieces > 1 and backend.score is Score.SIMILARITY:
            raise SettingError("min_pieces", min_pieces, f"1 with {backend.name}")
        require_whole("max_answer_chars", max_answer_chars, 1)
        self._filters = Filters(min_words, min_probability, min_pieces, max_answer_chars)
        self._threads = n_threads(threads)
        self._has_cache = shared is not None
        self._shared = shared or SharedResources.of(self._threads, cache_mb=CACHE_MB, ttl_s=3600)
        self._owns_shared, self._is_closed = owns_shared, False
        self._process = os.getpid()
        self._info = self.info_at(operating_point)

    @classmethod
    def load(
        cls,
        model: str | Path | None = None,
        *,
        revision: str | None = None,
        operating_point: str | float = "balanced",
        threads: int | None = None,
        cache_mb: float = CACHE_MB,
        cache_ttl_s: float = 3600,
        device: str = "cpu",
        max_length: int | None = None,
        min_words: int = 0,
        min_probability: float = 0.0,
        min_pieces: int = 1,
        max_answer_chars: int = 1_000_000,
    ) -> Self:
        """Load a model and make a detector of it.

        Args:
            model: ``None`` or ``"reader"`` for the best installed reader, unless the environment
                variable ``GROUNDWIRE_READER`` names another; ``"reader-small"``;
                ``"reader-base"``; ``"similarity"`` or ``"similarity:neural"`` to compare claims
                with sources by the package's encoder, ``"similarity:hash"`` by hashed words; a
                folder with a token classifier, or with a reader that ``groundwire train reader``
                wrote; or the id of a token classifier on the Hugging Face hub, such as
                ``KRLabsOrg/lettucedect-base-modernbert-en-v1``.
            revision: Commit of a hub model, 40 hexadecimal digits.
            operating_point: ``precision``, ``balanced`` or ``recall``, or a threshold in (0, 1].
            threads: CPU threads, at most 256; by default one for each processor this process may
                use.
            cache_mb: Limit on the size of all caches together, in megabytes of 1,000,000 bytes.
            cache_ttl_s: Seconds after which a cached text expires.
            device: ``cpu``, ``cuda`` or ``cuda:N``, for loaded checkpoints. Readers and the
                similarity detector run on the CPU, with a warning if another device is given.
            max_length: Word pieces that a loaded checkpoint reads in one pass; by default its own
                limit, at most 4,096.
            min_words: Spans of fewer words are not reported; 0 reports all.
            min_probability: Spans with a probability below this number, in [0, 1], are not
                reported.
            min_pieces: Lowest number of flagged word pieces (the model's tokens) in the whole
                answer; with fewer, no span is reported.
            max_answer_chars: Limit on the characters of an answer; a longer answer is refused,
                never cut.

        Raises:
            UnknownModelError: If there is no such model.
            UnpinnedModelError: If a hub model has no pinned revision.
            CorruptModelError: If a file in a manifest cannot be read, or has another hash.
            MissingExtraError: If a missing ONNX graph or ``tokenizer.json`` has to be exported, and
                the ``train`` extra is not installed.
            ModelError: If the model cannot be used for another reason.
            SettingError: If a setting is outside its range, or not possible with the model.
            DetectionError: If a token classifier fails on a short trial text.
        """
        threads = n_threads(threads)
        if not is_number(cache_mb) or not 0 <= cache_mb < inf:
            raise SettingError("cache_mb", cache_mb, "0 or more megabytes")
        if not is_number(cache_ttl_s) or not cache_ttl_s > 0:
            raise SettingError("cache_ttl_s", cache_ttl_s, "a positive number of seconds")
        name = str(model)
        compares = name in EMBEDDERS
        manifest = None if compares else find_reader(model)
        if compares or manifest is not None:
            check_for_embedded(revision=revision, device=device, max_length=max_length)
        shared = SharedResources.of(threads, cache_mb=cache_mb, ttl_s=cache_ttl_s)
        backend: ScoringBackend
        if compares or manifest is not None:
            backend = _embedded(name, manifest, shared)
        else:
            from groundwire.engine.token_classifier import TokenClassifierBackend

            verify(find_model())  # its word tables are used to find evidence to quote
            backend = TokenClassifierBackend.load(
                name, revision=revision, device=device, threads=threads, max_length=max_length
            )
        return cls(
            backend,
            operating_point=operating_point,
            min_words=min_words,
            min_probability=min_probability,
            min_pieces=min_pieces,
            max_answer_chars=max_answer_chars,
            threads=threads,
            shared=shared,
        )

    def beside(
        self,
        model: str,
        **options: Any,  # noqa: ANN401 - each is typed in __init__
    ) -> Self:
        """Load another detector, which shares the threads and caches of this one.

        Closing the new detector leaves this one open. Closing the detector that owns the threads
        closes all detectors that share them.

        Args:
            model: ``reader``, ``reader-small``, ``reader-base``, ``similarity``,
                ``similarity:neural`` (the same as ``similarity``) or ``similarity:hash``.
            options: ``operating_point``, ``min_words``, ``min_probability``, ``min_pieces`` and
                ``max_answer_chars``; see :meth:`load`.

        Raises:
            UnknownModelError: If ``model`` is none of these names.
            ModelError: If the model is not installed, or cannot be used.
            SettingError: If a setting is outside its range, or not possible with the model.
            DetectionError: If this detector is closed, or was loaded before the process forked.
        """
        self._require_usable()
        if model not in EMBEDDERS and model not in DETECTORS:
            raise UnknownModelError(model, DETECTORS)
        manifest = None if model in EMBEDDERS else find_reader(model)
        return type(self)(
            _embedded(model, manifest, self._shared),
            threads=self._threads,
            shared=self._shared,
            owns_shared=False,
            **options,
        )

    @property
    def backend(self) -> ScoringBackend:
        """The backend that scores answers."""
        return self._backend

    @property
    def cache(self) -> CacheStats | None:
        """Counters of the cache of encoded texts; ``None`` if ``shared`` was not given."""
        return self._shared.cache.stats if self._has_cache else None

    @property
    def info(self) -> DetectorInfo:
        """Name, revision and threshold of this detector."""
        return self._info

    def info_at(self, operating_point: str | float) -> DetectorInfo:
        """Return name and revision of this detector, with the threshold of an operating point.

        Raises:
            SettingError: If ``operating_point`` is neither a known name nor a number in (0, 1].
        """
        backend = self._backend
        if isinstance(operating_point, str):
            if operating_point not in backend.operating_points:
                known = ", ".join(backend.operating_points)
                raise SettingError(
                    "operating_point",
                    operating_point,
                    f"one of {known}, or a threshold in (0, 1], for the detector {backend.name}",
                )
            name, threshold = operating_point, backend.operating_points[operating_point]
        else:
            name = "custom"
            # Compare the number before it is converted: 10**400 cannot be converted to a float.
            is_valid = is_number(operating_point) and 0 < operating_point <= 1
            threshold = float(operating_point) if is_valid else nan
        if not 0 < threshold <= 1:
            raise SettingError("operating_point", operating_point, "a threshold in (0, 1]")
        return DetectorInfo(
            name=backend.name,
            revision=backend.revision,
            operating_point=name,
            threshold=threshold,
            score=backend.score,
        )

    @property
    def work(self) -> dict[str, int]:
        """Counts of what the model has read so far, by name, such as ``texts_read``."""
        return self._backend.work

    def detect(
        self,
        *,
        sources: Iterable[SourceLike],
        answer: str,
        question: str | None = None,
        operating_point: str | float | None = None,
        tenant: str = "",
    ) -> Detection:
        """Check whether the sources support an answer.

        Args:
            sources: Sources of the answer, of any kind that :meth:`Source.of` accepts, such as
                texts and documents. Order and repetition do not change the verdict.
            answer: The text to check.
            question: The user's question. It helps to find evidence, and is not evidence itself.
            operating_point: Name or threshold to use instead of the detector's operating point.
            tenant: Owner of the sources; cached texts of one tenant are never used for another.

        Returns:
            The detection. Its outcome is ``unverified`` without sources, and ``unavailable`` if
            the detector failed on a claim and no claim has a span.

        Raises:
            InputError: If a text or a source is invalid, or the answer is empty or too long.
            SettingError: If there is no such operating point, or the tenant is not a text.
            DetectionError: If the detector is closed, or was loaded before the process forked.
        """
        example = Example.of(sources=sources, answer=answer, question=question)
        return self._detect(example, operating_point, tenant)

    def _detect(
        self, example: Example, operating_point: str | float | None, tenant: str
    ) -> Detection:
        opened = self._open(example.sources, example.question, operating_point, tenant)
        return opened.finish(example.answer)

    def detect_batch(
        self,
        examples: Iterable[Example],
        *,
        operating_point: str | float | None = None,
        tenant: str = "",
    ) -> Iterator[Detection | GroundwireError]:
        """Check many answers, several at a time, each as :meth:`detect` does.

        Returns:
            A detection or an error for each example, in the order of the examples. An error of the
            ``examples`` iterator itself is raised after the results of the examples before it.

        Raises:
            SettingError: If there is no such operating point.
        """
        if operating_point is not None:
            self.info_at(operating_point)  # refuse an unknown name once, not for each example
        return self._batch(iter(examples), operating_point, tenant)

    def _batch(
        self, examples: Iterator[Example], operating_point: str | float | None, tenant: str
    ) -> Iterator[Detection | GroundwireError]:
        pool = ThreadPoolExecutor(self._threads, "groundwire-batch")
        waiting: deque[Future[Detection | GroundwireError]] = deque()
        failure: Exception | None = None
        try:
            try:
                for example in examples:
                    waiting.append(pool.submit(self._try, example, operating_point, tenant))
                    # Queue only as many examples as keep all threads busy: there may be millions.
                    if len(waiting) > 2 * self._threads:
                        yield waiting.popleft().result()
            except Exception as error:  # noqa: BLE001 - raised after the results before it
                failure = error
            while waiting:
                yield waiting.popleft().result()
        finally:
            pool.shutdown(cancel_futures=True)
        if failure is not None:
            raise failure

    def _try(
        self, example: Example, operating_point: str | float | None, tenant: str
    ) -> Detection | GroundwireError:
        try:
            if not isinstance(example, Example):
                raise InputError(
                    f"A batch consists of Example values, and this is a {type(example).__name__}. "
                    "Build each with Example.of(sources=..., question=..., answer=...)."
                )
            checked = Example.of(
                sources=example.sources, answer=example.answer, question=example.question
            )
            return self._detect(checked, operating_point, tenant)
        except GroundwireError as error:
            return error
        except Exception as error:  # noqa: BLE001 - it must not end the whole batch
            failed = DetectionError(f"The check failed: {type(error).__name__}: {error}")
            failed.__cause__ = error
            return failed

    def stream(
        self,
        *,
        sources: Iterable[SourceLike],
        question: str | None = None,
        operating_point: str | float | None = None,
        tenant: str = "",
        reads_ahead: bool = True,
    ) -> "Stream":
        """Begin to check an answer that is still being written.

        The sources are indexed now. With ``reads_ahead``, the backend may also begin to read them
        in the background; pass ``reads_ahead=False`` if the answer is already written. The other
        arguments and the errors are those of :meth:`detect`.
        """
        if question is not None:
            require_text(question, "question")
        stream = self._open(read_sources(sources), question, operating_point, tenant)
        if reads_ahead:
            stream.prefetch()
        return stream

    def _open(
        self,
        sources: Sequence[Source],
        question: str | None,
        operating_point: str | float | None,
        tenant: str,
    ) -> "Stream":
        self._require_usable()
        if not isinstance(tenant, str):
            raise SettingError("tenant", tenant, "a text")
        info = self._info if operating_point is None else self.info_at(operating_point)
        started = perf_counter()
        backend = self._backend
        session = backend.open(sources, question, threshold=info.threshold, tenant=tenant)
        return Stream(
            session,
            info,
            filters=self._filters,
            answers=backend.answers,
            index_s=perf_counter() - started,
            source_ids=[source.id for source in sources],
            question=question,
            # Readers and the package's encoder know only English. Other models may know other
            # languages.
            reads_english_only=isinstance(backend, Reader) or backend.name == "similarity",
        )

    async def adetect(
        self,
        *,
        sources: Iterable[SourceLike],
        answer: str,
        question: str | None = None,
        operating_point: str | float | None = None,
        tenant: str = "",
    ) -> Detection:
        """Check an answer as :meth:`detect` does, in a thread, without blocking the event loop."""
        example = Example.of(sources=sources, answer=answer, question=question)
        return await asyncio.to_thread(self._detect, example, operating_point, tenant)

    async def astream(
        self,
        deltas: AsyncIterable[str],
        *,
        sources: Iterable[SourceLike],
        question: str | None = None,
        operating_point: str | float | None = None,
        tenant: str = "",
    ) -> AsyncIterator[Claim | Detection]:
        """Check an answer while it arrives.

        Yields:
            Each claim as soon as it is judged, and the detection at the end.
        """
        stream = await asyncio.to_thread(
            lambda: self.stream(
                sources=sources, question=question, operating_point=operating_point, tenant=tenant
            )
        )
        try:
            async for delta in deltas:
                for claim in await asyncio.to_thread(stream.feed, delta):
                    yield claim
            n_known = len(stream.claims)
            detection = await asyncio.to_thread(stream.finish)
            for claim in detection.claims[n_known:]:
                yield claim
            yield detection
        finally:
            stream.close()

    def close(self) -> None:
        """Refuse further checks; stop the threads, unless they belong to another detector."""
        self._is_closed = True
        if self._owns_shared:
            self._shared.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _require_usable(self) -> None:
        if self._is_closed or self._shared.is_closed:
            raise DetectionError("This detector is closed. Load another with Detector.load().")
        if self._process != os.getpid():
            # Threads do not survive a fork, so a check would wait for them forever.
            raise DetectionError(
                "This detector was loaded before the process was forked. "
                "Load one in each process, after the fork."
            )


def _embedded(name: str, manifest: Manifest | None, shared: SharedResources) -> ScoringBackend:
    """Load a reader or, without a manifest, the similarity detector; check file hashes first."""
    verify(manifest or find_model())
    if manifest is not None:
        if (small := companion(manifest)) is not manifest:
            verify(small)
        return Reader.load(manifest, shared)
    from groundwire.engine.similarity_detector import SimilarityBackend

    if EMBEDDERS[name] == "neural":
        verify(find_model(ENCODER))
    return SimilarityBackend.load(name, shared)
