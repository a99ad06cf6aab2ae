// Keys, the jump between a claim and its evidence, the lease, and the list that renews itself. Every page works
// without this file.
"use strict";
(() => {
  document.documentElement.classList.add("scripted");
  const one = (selector, from = document) => from.querySelector(selector);
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];
  const csrf = one('meta[name="csrf"]')?.content ?? "";
  const help = one("#help");
  const lease = one("#lease");
  const isField = (element) => element?.matches?.("input:not([type=radio]), textarea, select");
  let leaving = false;

  // --- flags -------------------------------------------------------------------------------------

  const cards = () => all("[data-flag]");
  let current = null;
  let quote = 0;

  const show = (card, { focus = true, scroll = true } = {}) => {
    current?.classList.remove("current");
    all(".mark.lit").forEach((mark) => mark.classList.remove("lit"));
    current = card;
    quote = 0;
    if (!card) return;
    card.closest("details")?.setAttribute("open", "");
    card.classList.add("current");
    const marks = all(`.mark[data-card="${CSS.escape(card.id)}"]`);
    marks.forEach((mark) => mark.classList.add("lit"));
    if (scroll) card.scrollIntoView({ block: "nearest" });
    if (scroll) one(`#answer .mark[data-card="${CSS.escape(card.id)}"]`)?.scrollIntoView({ block: "nearest" });
    if (scroll) one(`.evidence .mark[data-card="${CSS.escape(card.id)}"]`)?.scrollIntoView({ block: "nearest" });
    if (focus) card.focus({ preventScroll: true });
  };

  const step = (by) => {
    const list = cards();
    if (list.length === 0) return;
    const at = list.indexOf(current);
    show(list[at < 0 ? (by > 0 ? 0 : list.length - 1) : (at + by + list.length) % list.length]);
  };

  const nextQuote = () => {
    if (!current) return;
    const marks = all(`.evidence .mark[data-card="${CSS.escape(current.id)}"]`);
    if (marks.length > 0) marks[quote++ % marks.length].scrollIntoView({ block: "center" });
  };

  const press = (name) => one(`[data-in-card="${name}"]`, current ?? undefined) ?? null;

  const override = (verdict) => {
    if (!current) return;
    const direct = verdict === "grounded" ? press("g") : null;
    if (direct) return direct.click();
    const select = one("[data-verdict]", current);
    if (!select) return;
    select.value = verdict;
    if (verdict === "grounded") one("[data-severity]", current).value = "";
    press("override")?.click();
  };

  const severity = (word) => {
    const select = current && one("[data-severity]", current);
    if (select) select.value = word;
  };

  document.addEventListener("click", (event) => {
    const mark = event.target.closest(".mark[data-card]");
    const card = mark && document.getElementById(mark.dataset.card);
    if (!card) return;
    event.preventDefault();
    show(card);
  });
  document.addEventListener("focusin", (event) => {
    const card = event.target.closest("[data-flag]");
    if (card && card !== current) show(card, { focus: false });
  });

  // Where the page begins: behind the flag that was just decided, at the first that is not.
  const begin = () => {
    const list = cards();
    if (list.length === 0) return;
    const from = document.getElementById(new URLSearchParams(location.search).get("from") ?? "");
    const open = list.filter((card) => !card.classList.contains("decided"));
    const behind = from && open.find((card) => list.indexOf(card) > list.indexOf(from));
    const hash = !from && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const target = behind ?? (hash && list.includes(hash) ? hash : open[0]);
    // A page that was just opened begins at its top.
    if (target) show(target, { scroll: Boolean(from || hash) });
    else if (from) one("#close")?.scrollIntoView({ block: "nearest" });
  };

  // --- lists -------------------------------------------------------------------------------------

  const stepRow = (by) => {
    const rows = all("[data-row]");
    if (rows.length === 0) return;
    const at = rows.findIndex((row) => row.classList.contains("current"));
    rows[at]?.classList.remove("current");
    const row = rows[at < 0 ? (by > 0 ? 0 : rows.length - 1) : Math.min(Math.max(at + by, 0), rows.length - 1)];
    row.classList.add("current");
    one("a", row).focus({ preventScroll: true });
    row.scrollIntoView({ block: "nearest" });
  };

  const renew = async () => {
    const live = one("#live[data-live]");
    if (!live || document.hidden || live.contains(document.activeElement)) return;
    try {
      const answer = await fetch(location.href, { headers: { accept: "text/html" } });
      if (!answer.ok || answer.redirected) return;
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      for (const id of ["live", "waiting"]) {
        const fresh = page.getElementById(id);
        const old = document.getElementById(id);
        if (fresh && old && !old.contains(document.activeElement)) old.replaceWith(fresh);
      }
    } catch { /* The next try follows. */ }
  };
  if (one("#live[data-live]")) setInterval(renew, 10000);

  // --- the lease ---------------------------------------------------------------------------------

  const fence = lease?.dataset.fence;
  const shown = one("time[data-until]");
  const say = () => {
    if (!shown) return;
    const left = Math.max(0, Math.round((Date.parse(lease.dataset.until) - Date.now()) / 1000));
    const until = new Date(lease.dataset.until).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
    shown.textContent = left > 0 ? `${until} (${left > 90 ? `${Math.round(left / 60)} min` : `${left} s`} left)` : "now: take it again";
  };
  let extended = Date.now();
  const active = async () => {
    if (!fence || leaving || Date.now() - extended < 60000) return;
    extended = Date.now();
    try {
      const answer = await fetch(`/api/v1/review/items/${lease.dataset.item}/extend`, {
        method: "POST",
        headers: { "content-type": "application/json", "x-csrf-token": csrf },
        body: JSON.stringify({ fence: Number(fence) }),
      });
      if (answer.ok) lease.dataset.until = (await answer.json()).leased_until;
    } catch { /* The next thing that is done tries again. */ }
    say();
  };
  if (fence) {
    say();
    setInterval(say, 5000);
    for (const kind of ["keydown", "pointerdown", "scroll"]) document.addEventListener(kind, active, { passive: true, capture: true });
    // Leaving the page gives the item back; sending a form does not.
    document.addEventListener("submit", () => { leaving = true; });
    window.addEventListener("pagehide", () => {
      if (leaving) return;
      const form = new URLSearchParams({ csrf, fence });
      navigator.sendBeacon(`/items/${lease.dataset.item}/give-back`, form);
    });
  }

  // --- keys --------------------------------------------------------------------------------------

  const add = () => {
    const details = one("#add");
    if (!details) return;
    const selected = getSelection()?.toString().trim();
    details.open = true;
    const field = one("textarea", details);
    if (selected && one("#answer")?.contains(getSelection().anchorNode)) field.value = selected;
    field.focus();
  };
  const end = () => {
    const section = one("#close");
    section?.scrollIntoView({ block: "nearest" });
    one("input[type=radio]", section ?? undefined)?.focus();
  };
  const openHelp = () => { if (help && !help.open) help.showModal(); };
  const back = () => { one("nav a[aria-current]")?.click(); };
  const isItem = document.body.classList.contains("item");
  const keys = {
    "?": openHelp, q: back,
    j: () => (isItem ? step(1) : stepRow(1)), k: () => (isItem ? step(-1) : stepRow(-1)),
    e: nextQuote, a: add, c: end,
    y: () => press("y")?.click(), n: () => press("n")?.focus(),
    g: () => override("grounded"), x: () => override("contradicted"),
    u: () => override("unsupported"), i: () => override("insufficient_evidence"),
    0: () => severity(""), 1: () => severity("minor"), 2: () => severity("major"), 3: () => severity("critical"),
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || help?.open) return;
    if (event.key === "Escape" && isField(document.activeElement)) {
      document.activeElement.blur();
      if (current) current.focus({ preventScroll: true });
      return;
    }
    if (isField(document.activeElement)) {
      // Enter in a note keeps the note, and nothing else.
      if (event.key === "Enter" && document.activeElement.matches("[data-in-card=n]")) {
        event.preventDefault();
        one('button[value="annotate"]', document.activeElement.form)?.click();
      }
      return;
    }
    const button = /^[a-z?/]$/.test(event.key) && one(`[data-key="${event.key}"]:not([data-action]):not(summary)`);
    if (button) {
      event.preventDefault();
      return isField(button) ? button.focus() : button.click();
    }
    const action = keys[event.key];
    if (action) {
      event.preventDefault();
      action();
    }
  });
  one('[data-action="help"]')?.addEventListener("click", openHelp);

  begin();
})();
