"""Request handlers under ``/roofline``: the home page's data, and the actions of its buttons.

All requests require the server's login. Slow work runs in threads.
"""

import asyncio
from pathlib import Path

from jupyter_server.base.handlers import APIHandler, FileFindHandler, JupyterHandler
from jupyter_server.utils import to_os_path, url_path_join
from tornado import web

from roofcheck.handin import exchange
from roofcheck.handin.hand_in import hand_in_file
from roofcheck.sentences import sentence
from roofcheck.study import answer_page
from roofcheck.study.review import answer_text, next_due, review

STATIC = Path(__file__).parent / "static"
# Pages with answers or feedback get no scripts and no network access.
POLICY = (
    "default-src 'none'; img-src 'self' data:; font-src data:; style-src 'unsafe-inline'; "
    "form-action 'none'; frame-ancestors 'self'; sandbox allow-popups allow-same-origin "
    "allow-top-navigation-by-user-activation"
)


def make_handlers(base_url, home):
    """Return the request handlers for a Home on a server at ``base_url``."""

    def address(path):
        return url_path_join(base_url, "roofline", path)

    shared = {"home": home, "busy": asyncio.Lock()}
    return [
        (address("static/(.*)"), FileFindHandler, {"path": [str(STATIC)], "no_cache_paths": ["/"]}),
        (address("home"), HomeHandler, shared),
        (address("review"), ReviewHandler, shared),
        (address("hand-in"), HandInHandler, shared),
        (address("fetch"), FetchHandler, shared),
        (address("give-up"), GiveUpHandler, shared),
        (address(r"(answers|feedback)/(\w+)"), PageHandler, shared),
    ]


def _run_aside(work, *arguments):
    # asyncio.to_thread would copy the server's context, including its event loop, and Jupyter's
    # libraries would then wait for that loop.
    return asyncio.get_running_loop().run_in_executor(None, work, *arguments)


class _Handler(APIHandler):
    def initialize(self, home, busy):
        self.home, self.busy = home, busy

    async def answer(self, work, *arguments):
        """Reply with the result of ``work``, or with its error message."""
        try:
            self.finish(await _run_aside(work, *arguments))
        except (ValueError, RuntimeError, OSError) as error:
            self.set_status(422)
            self.finish({"message": str(error)})

    def read_body(self, *names):
        """Return the values of these keys in the request's JSON body."""
        try:
            body = self.get_json_body()
        except UnicodeDecodeError:
            raise web.HTTPError(400, "the body is not UTF-8") from None
        if not isinstance(body, dict) or not isinstance(body.get(names[0]), str):
            raise web.HTTPError(400, f"no {names[0]}")
        return [body.get(name) for name in names]


class HomeHandler(_Handler):
    @web.authenticated
    async def get(self):
        await self.answer(self.home.page_data, bool(self.get_query_argument("ask_class", "")))


class ReviewHandler(_Handler):
    @web.authenticated
    async def get(self):
        await self.answer(self._next_question, self.get_query_arguments("skip"))

    @web.authenticated
    async def post(self):
        await self.answer(self._judge, *self.read_body("question", "answer"))

    def _next_question(self, skipped):
        due = next_due(skipped)
        if due is None:
            return {"said": sentence("home.skipped") if skipped else str(review())}
        return {"question": due.question_id, "html": due._repr_html_()}

    def _judge(self, question, answer):
        grade = answer_text(question, str(answer or ""))
        if grade is None:
            return {"said": sentence("home.not-due")}
        counts = grade.verdict.state in ("right", "partly", "wrong")
        return {"html": grade._repr_html_(), "counts": counts}


class HandInHandler(_Handler):
    @web.authenticated
    async def post(self):
        body = self.read_body("name", "path", "unfinished", "from_cell", "screen")
        async with self.busy:
            await self.answer(self._hand_in, *body)

    def _hand_in(self, name, path, unfinished, from_cell, screen):
        path = path or self.home.set_path(self.home.require_course().set(name))
        file = Path(to_os_path(str(path), str(self.home.served)))
        if not file.resolve().is_relative_to(self.home.served.resolve()):
            raise ValueError(sentence("home.outside", path=path, folder=self.home.served))
        try:
            return hand_in_file(file, name, unfinished is True, bool(from_cell), screen).as_json()
        finally:
            self.home.forget_exchange()


class FetchHandler(_Handler):
    @web.authenticated
    async def post(self):
        async with self.busy:
            await self.answer(self._fetch, *self.read_body("name"))

    def _fetch(self, name):
        course = self.home.require_course()
        course.set(name)
        try:
            return {"path": self.home.served_path(str(_find_exchange(course).fetch(name)))}
        finally:
            self.home.forget_exchange()


class GiveUpHandler(_Handler):
    @web.authenticated
    async def post(self):
        [name] = self.read_body("name")
        await self.answer(
            lambda: answer_page.give_up(self.home.require_course().set(name).id) or {}
        )


class PageHandler(JupyterHandler):
    """An HTML page with the answers to a set, or the feedback on it."""

    def initialize(self, home, busy):
        self.home = home

    @web.authenticated
    async def get(self, kind, name):
        self.set_header("Content-Type", "text/html; charset=utf-8")
        self.set_header("Content-Security-Policy", POLICY)
        self.set_header("Cache-Control", "no-store")
        try:
            self.finish(await _run_aside(self._page, kind, name))
        except (ValueError, RuntimeError, OSError) as error:
            # A PermissionError, which is an OSError, means that the answers are not available yet.
            raise web.HTTPError(404, reason=" ".join(str(error).split())) from None

    def _page(self, kind, name):
        course = self.home.require_course()
        course.set(name)
        if kind == "answers":
            return answer_page.make_answer_page(course, name)
        page = _find_exchange(course).fetch_feedback(name)
        if page is None:
            raise ValueError(sentence("home.no-feedback", number=course.set(name).number))
        return page.read_text(encoding="utf-8")


def _find_exchange(course):
    if (its_exchange := exchange.find_exchange(course.root)) is None:
        raise ValueError(sentence("home.no-class"))
    return its_exchange
