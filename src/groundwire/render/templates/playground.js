"use strict";
// The texts of the form are checked as they are written; only the newest answer counts.
(() => {
  const form = document.getElementById("form");
  const result = document.getElementById("result");
  const status = document.getElementById("status");
  const slider = document.getElementById("threshold");
  const code = document.getElementById("code");
  let point = slider.dataset.at; // the name of an operating point, until the slider moves
  let asking = new AbortController();
  let waiting;

  const say = (text, isWrong = false) => {
    status.textContent = text;
    status.classList.toggle("wrong", isWrong);
  };

  const texts = () => ({
    sources: Array.from(form.querySelectorAll("[name=source]"), (each) =>
      each.dataset.id ? { id: each.dataset.id, title: each.dataset.title || null, text: each.value } : each.value,
    ).filter((each) => (each.text ?? each).trim()),
    question: form.elements.question.value.trim() || null,
    answer: form.elements.answer.value,
    operating_point: point ?? Number(slider.value),
  });

  const post = async (path, body, signal) => {
    const options = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body), signal };
    const response = await fetch(path, options).catch(() => {
      throw new Error("The server of this page does not answer. Is groundwire playground still running?");
    });
    if (response.status === 422) throw new Error((await response.json()).error);
    if (!response.ok) throw new Error(`The playground's server answered ${response.status}.`);
    return response;
  };

  const setThreshold = (value, name = null) => {
    point = name;
    slider.value = value;
    document.getElementById("at").textContent = Number(value).toFixed(2);
    for (const each of document.querySelectorAll("[data-point]")) each.ariaPressed = String(each.dataset.point === name);
  };

  // What people have unfolded stays so, and the sources stay where they were scrolled to.
  const put = (html) => {
    const open = new Map(Array.from(result.querySelectorAll("details"), (each) => [each.firstElementChild.textContent, each.open]));
    const top = result.querySelector(".sources")?.scrollTop ?? 0;
    result.replaceChildren(...new DOMParser().parseFromString(html, "text/html").body.childNodes);
    for (const each of result.querySelectorAll("details")) {
      const was = open.get(each.firstElementChild.textContent);
      if (was !== undefined) each.open = was;
    }
    const pane = result.querySelector(".sources");
    if (pane) pane.scrollTop = top;
    say(result.firstElementChild.dataset.says);
  };

  const check = async () => {
    asking.abort();
    const mine = (asking = new AbortController());
    const body = texts();
    if (!body.answer.trim()) {
      result.classList.remove("waiting");
      result.replaceChildren();
      say("Write an answer, and its verdict appears here.");
      return;
    }
    result.classList.add("waiting");
    try {
      const html = await (await post("/check", body, mine.signal)).text();
      if (!mine.signal.aborted) put(html);
    } catch (error) {
      if (!mine.signal.aborted) say(error.message, true);
    }
    if (!mine.signal.aborted) result.classList.remove("waiting");
  };

  const soon = (after) => {
    clearTimeout(waiting);
    waiting = setTimeout(check, after);
  };

  const addSource = ({ id = "", title = "", text = "" } = {}) => {
    const made = document.getElementById("source-field").content.cloneNode(true);
    const number = 1 + Math.max(0, ...Array.from(form.querySelectorAll("[name=source]"), (each) => Number(each.id.slice(7))));
    const field = made.querySelector("textarea");
    field.id = `source-${number}`;
    field.value = text;
    Object.assign(field.dataset, { id, title: title ?? "" });
    const label = made.querySelector("label");
    label.htmlFor = field.id;
    label.textContent = id || `Source ${number}`;
    made.querySelector(".unseen").textContent = ` ${label.textContent}`;
    document.getElementById("sources").append(made);
    return field;
  };

  form.addEventListener("submit", (event) => event.preventDefault());
  document.addEventListener("input", (event) => {
    if (event.target.id === "chat") return;
    if (event.target === slider) setThreshold(slider.value);
    soon(event.target === slider ? 40 : 350);
  });

  document.getElementById("add").addEventListener("click", () => addSource().focus());
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    if ("remove" in button.dataset) {
      button.parentElement.remove();
      document.getElementById("add").focus();
      soon(0);
    } else if (button.dataset.point) {
      setThreshold(button.dataset.threshold, button.dataset.point);
      soon(0);
    } else if (button.dataset.copy) {
      try {
        code.textContent = await (await post(`/copy/${button.dataset.copy}`, texts())).text();
        code.hidden = false;
        await navigator.clipboard.writeText(code.textContent);
        say("Copied.");
      } catch (error) {
        say(code.hidden ? error.message : "Select the code to copy it.", code.hidden);
      }
    } else if (button.id === "divide") {
      try {
        const found = await (await post("/chat", { chat: document.getElementById("chat").value })).json();
        document.querySelectorAll(".source-field").forEach((each) => each.remove());
        found.sources.forEach(addSource);
        form.elements.question.value = found.question;
        form.elements.answer.value = found.answer;
        check();
      } catch (error) {
        say(error.message, true);
      }
    }
  });

  say(result.firstElementChild.dataset.says);
})();
