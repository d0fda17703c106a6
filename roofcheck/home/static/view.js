// The content of the page. All sentences come from the server; this code only lays them out.
import { element } from "./dom.js";
import { Review } from "./review.js";

export class View {
  constructor(node, the, commands) {
    Object.assign(this, { node, the, commands });
    node.classList.add("roofline-home");
    node.tabIndex = -1;
    this.status = element("p", { role: "status", class: "roofline-status" }, the.words.loading);
    this.now = element("div");
    this.main = element("div");
    this.asking = new Review(the, () => this.refresh());
    // Review is separate, so that text typed there survives when the rest is redrawn.
    const parts = [this.head(), this.status, this.now, this.asking.node, this.main];
    node.append(element("div", { class: "roofline-page" }, parts));
  }

  head() {
    const { words } = this.the;
    const about = element("p", {}, words["about-it"]);
    return element("div", { class: "roofline-head" }, element("h1", {}, words.title), about);
  }

  // Refreshes the page: first with the data available now, then with the exchange's reply.
  async refresh() {
    const turn = (this.turn = (this.turn ?? 0) + 1);
    const { request, words } = this.the;
    try {
      let data = await request("home");
      if (turn !== this.turn) return;
      this.draw(data);
      this.status.textContent = data.ask_class ? words["asking-class"] : "";
      if (!data.ask_class) return;
      data = await request("home?ask_class=1");
      if (turn !== this.turn) return;
      this.draw(data);
      this.status.textContent = "";
    } catch (error) {
      if (turn === this.turn) this.status.textContent = words.failed.replace("{why}", error.message);
    }
  }

  draw(data) {
    // Redrawing an unchanged page would lose the reader's position and focus.
    const shown = JSON.stringify(data);
    if (shown === this.shown) return;
    this.shown = shown;
    const { scrollTop } = this.node;
    const focused = this.node.contains(document.activeElement) && document.activeElement.dataset.key;
    const now = (data.notes ?? []).map((note) => element("p", { class: "roofline-note" }, note));
    const main = [];
    if (data.lectures) {
      const cards = [data.go_on && this.goOn(data.go_on), this.due(data.due), this.back(data.review)];
      now.push(element("div", { class: "roofline-now" }, cards));
      main.push(
        this.section("lectures", element("ol", {}, data.lectures.map((each) => this.row(each)))),
        this.section("sets", element("ol", {}, data.sets.map((each) => this.row(each)))),
        data.pages.length ? this.section("pages", this.pages(data.pages)) : "",
        element("p", { class: "roofline-tells" }, this.the.words.tells),
      );
    }
    this.now.replaceChildren(...now);
    this.main.replaceChildren(...main.filter(Boolean));
    this.node.scrollTop = scrollTop;
    if (focused) this.node.querySelector(`[data-key="${focused}"]`)?.focus();
  }

  goOn({ heading, said, do: label, path, cell }) {
    const go = () => this.open(path, cell);
    const button = path && this.button("go-on", label, go, { class: "roofline-first" });
    return element("div", {}, element("h2", {}, heading), element("p", {}, said), button);
  }

  due(sentences) {
    if (!sentences.length) return null;
    const heading = element("h2", {}, this.the.words.due);
    return element("div", {}, heading, sentences.map((each) => element("p", {}, each)));
  }

  back({ said, count }) {
    if (!said) return null;
    const button = count ? this.button("review", this.the.words.review, () => this.review()) : null;
    return element("div", {}, element("h2", {}, this.the.words.review), element("p", {}, said), button);
  }

  pages(pages) {
    const links = pages.map(({ url, text }) => this.link(this.the.page(url), text));
    return element("ul", { class: "roofline-links" }, links.map((link) => element("li", {}, link)));
  }

  // A section of the page that folds, and stays as the reader left it.
  section(name, content) {
    const key = `roofline:folded:${name}`;
    const details = element(
      "details",
      { open: !localStorage.getItem(key), class: `roofline-section roofline-${name}` },
      element("summary", { "data-key": `fold-${name}` }, element("h2", {}, this.the.words[name])),
      content,
    );
    details.addEventListener("toggle", () =>
      details.open ? localStorage.removeItem(key) : localStorage.setItem(key, "1"),
    );
    return details;
  }

  row({ id, title, path, about, time, points, marks, standing, said = [], actions = [] }) {
    const name = path
      ? this.button(`open-${id}`, title, () => this.open(path), { class: "roofline-title" })
      : element("span", { class: "roofline-title" }, title);
    const { words } = this.the;
    const squares = marks.map((mark) => element("i", { class: `roofline-${mark}`, title: words[`mark-${mark}`] }));
    return element(
      "li",
      { "data-id": id },
      element(
        "div",
        { class: "roofline-line" },
        element("h3", {}, name),
        element("span", { class: "roofline-time" }, [time, points].filter(Boolean).join(", ")),
      ),
      about && element("p", {}, about),
      said.length ? element("p", {}, said.join(" ")) : null,
      element(
        "div",
        { class: "roofline-line" },
        element("span", { class: "roofline-stands" }, element("span", { class: "roofline-marks", "aria-hidden": "true" }, squares), standing),
        actions.length ? element("span", { class: "roofline-actions" }, actions.map((each) => this.action(each, id, path))) : null,
      ),
    );
  }

  action({ do: what, text, name }, id, path) {
    const { address, request, words } = this.the;
    const named = { "aria-label": name };
    if (what === "answers" || what === "feedback") {
      return this.link(address(`${what}/${id}`), text, { ...named, "data-key": `${what}-${id}` });
    }
    const work = {
      fetch: async () => {
        this.status.textContent = words.fetching;
        const { path: fetched } = await request("fetch", { name: id });
        if (fetched) this.open(fetched);
      },
      "hand-in": () => this.commands.execute("roofline:hand-in", { name: id, path }),
      "give-up": () => this.commands.execute("roofline:give-up", { name: id }),
    }[what];
    const run = async ({ currentTarget }) => {
      currentTarget.disabled = true;
      try {
        await work();
        await this.refresh();
      } catch (error) {
        this.status.textContent = error.message;
      }
      currentTarget.disabled = false;
      // The focus was lost when the button was disabled or replaced.
      if (document.activeElement !== document.body) return;
      const keys = [`${what}-${id}`, `answers-${id}`].map((key) => `[data-key="${key}"]`);
      this.node.querySelector(keys.join())?.focus();
    };
    return this.button(`${what}-${id}`, text, run, named);
  }

  button(key, text, onclick, attributes = {}) {
    return element("button", { type: "button", "data-key": key, onclick, ...attributes }, text);
  }

  link(href, text, attributes = {}) {
    return element("a", { href, target: "_blank", rel: "noopener", ...attributes }, text);
  }

  // Opens a notebook, at a cell if one is given.
  async open(path, cell) {
    const panel = await this.commands.execute("docmanager:open", { path });
    if (!cell || !panel?.content?.widgets) return;
    await panel.context.ready;
    const index = panel.content.widgets.findIndex((each) => each.model.id === cell);
    if (index < 0) return;
    panel.content.activeCellIndex = index;
    await panel.content.scrollToItem(index, "start");
  }

  async review() {
    await this.asking.next();
    this.asking.node.scrollIntoView({ block: "nearest" });
  }
}
