"use strict";
// Keys for the page on which a reviewer judges an answer, and words that are added by selecting them.
(() => {
  const form = document.getElementById("labels");
  const keys = document.getElementById("keys");
  const findings = [...document.querySelectorAll(".judge")];
  const answer = document.querySelector(".answer");
  const isOpen = (each) => !each.querySelector(":checked");
  let at = 0;

  const go = (to, how) => {
    if (!findings.length) return;
    at = Math.min(Math.max(to, 0), findings.length - 1);
    const finding = findings[at].closest(".finding");
    finding.tabIndex = -1;
    finding.focus(how);
  };

  const judge = (verdict) => {
    if (!findings.length) return;
    findings[at].querySelector(`[value=${verdict}]`).checked = true;
    tell("");
    const open = findings.findIndex(isOpen);
    if (open < 0) form.querySelector("button").focus();
    else go(open);
  };

  const store = () => {
    const open = findings.findIndex(isOpen);
    if (open < 0) return form.requestSubmit();
    go(open);
    tell(`Finding ${open + 1} is open: press r if it is right, w if it is wrong.`, findings[open]);
  };

  // The text of a stretch of the page, without white space and without the numbers of findings.
  const textOf = (range, keeps) => {
    const copy = range.cloneContents();
    for (const each of copy.querySelectorAll("mark a")) each.remove();
    return copy.textContent.replace(/\s+/g, keeps);
  };

  const add = () => {
    const selection = document.getSelection();
    const range = selection.rangeCount ? selection.getRangeAt(0) : null;
    if (!range || range.collapsed || !answer.contains(range.commonAncestorContainer)) return tell("Select words of the answer first.");
    const before = document.createRange();
    before.setStart(answer, 0);
    before.setEnd(range.startContainer, range.startOffset);
    const all = document.createRange();
    all.selectNodeContents(answer);
    const [text, words, start] = [textOf(all, ""), textOf(range, ""), textOf(before, "").length];
    let nth = 1;
    for (let found = text.indexOf(words); found >= 0 && found < start; found = text.indexOf(words, found + 1)) nth += 1;
    const field = document.getElementById("missed");
    const line = textOf(range, " ").trim() + (nth > 1 ? ` #${nth}` : "");
    if (!words) return;
    field.value = [...field.value.split("\n").filter(Boolean), line].join("\n");
    tell(`Added: ${line}`);
  };

  const told = document.getElementById("told");
  const tell = (text, place = form) => {
    place.append(told);
    told.textContent = text;
  };

  const skip = document.getElementById("skip");
  const actions = {
    r: () => judge("right"), w: () => judge("wrong"), j: () => go(at + 1), k: () => go(at - 1),
    m: add, n: store, s: () => skip.click(),
  };
  const isWriting = (target) => target instanceof Element && target.matches("textarea, select, input:not([type=radio], [type=checkbox])");

  document.addEventListener("keydown", (event) => {
    const act = actions[event.key];
    if (!act || !keys.checked || event.ctrlKey || event.metaKey || event.altKey || isWriting(event.target)) return;
    event.preventDefault();
    act();
  });
  keys.checked = localStorage.getItem("review-keys") !== "off";
  keys.addEventListener("change", () => localStorage.setItem("review-keys", keys.checked ? "on" : "off"));
  document.querySelector(".keys").hidden = false;
  const button = document.getElementById("add");
  button.hidden = false;
  button.addEventListener("mousedown", (event) => event.preventDefault()); // keeps the selection
  button.addEventListener("click", add);
  for (const [n, each] of findings.entries()) each.closest(".finding").addEventListener("focusin", () => { at = n; });
  go(Math.max(findings.findIndex(isOpen), 0), { preventScroll: true });
})();
