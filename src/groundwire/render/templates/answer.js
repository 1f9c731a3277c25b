"use strict";
// A statement of the answer and its evidence light up together, under the pointer and the focus.
(() => {
  const numbers = (element) => element.dataset.lights.split(" ").filter(Boolean);
  const linked = (target) => (target instanceof Element ? target.closest("[data-lights]") : null);

  const light = (at) => {
    for (const each of document.querySelectorAll(".lit")) each.classList.remove("lit");
    if (!at) return;
    const wanted = new Set(numbers(at));
    for (const each of document.querySelectorAll("[data-lights]")) {
      if (numbers(each).some((number) => wanted.has(number))) each.classList.add("lit");
    }
  };

  // The sources scroll by themselves where they stand beside the answer; the page never moves.
  const show = (at) => {
    const pane = document.querySelector(".sources");
    const evidence = pane && pane.querySelector(".evidence.lit");
    if (!at || !evidence || pane.contains(at) || pane.scrollHeight <= pane.clientHeight) return;
    const from = pane.getBoundingClientRect();
    const place = evidence.getBoundingClientRect();
    if (place.top < from.top || place.bottom > from.bottom) pane.scrollTop += place.top - from.top - 48;
  };

  for (const kind of ["pointerover", "focusin", "click"]) {
    document.addEventListener(kind, (event) => {
      const at = linked(event.target);
      light(at);
      show(at);
    });
  }
  document.addEventListener("focusout", () => light(null));
})();
