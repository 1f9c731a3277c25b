"use strict";
// Says that work is going on after a button that takes long, and sends its form only once.
(() => {
  let isBusy = false;
  const busy = document.getElementById("busy");
  const tell = (text) => {
    isBusy = Boolean(text);
    busy.replaceChildren(...(text ? [document.createElement("progress"), ` ${text}`] : []));
  };
  document.addEventListener("submit", (event) => {
    if (isBusy) event.preventDefault();
    else if (event.submitter) tell(event.submitter.dataset.busy);
  });
  addEventListener("pageshow", () => tell(""));
})();
