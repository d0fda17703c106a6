// Review on the home page, which shows the server's questions one at a time.
import { element, trusted } from "./dom.js";

export class Review {
  constructor(the, changed) {
    Object.assign(this, { the, changed, skipped: [] });
    this.node = element("section", { class: "roofline-review", hidden: true });
    this.node.setAttribute("aria-label", the.words.reviewing);
  }

  async next() {
    const skips = this.skipped.map((id) => `skip=${encodeURIComponent(id)}`).join("&");
    let due;
    try {
      due = await this.the.request(`review?${skips}`);
    } catch (error) {
      due = { said: error.message };
    }
    this.node.hidden = false;
    if (due.question) this.ask(due);
    else this.end(due.said);
  }

  ask({ question, html }) {
    const { words } = this.the;
    const field = element("input", { type: "text", autocomplete: "off" });
    const verdict = element("div", { role: "status" });
    const submit = element("button", { class: "roofline-first" }, words.answer);
    const answer = async (event) => {
      event.preventDefault();
      if (submit.disabled) return;
      submit.disabled = true;
      try {
        const judged = await this.the.request("review", { question, answer: field.value });
        verdict.replaceChildren(judged.html ? trusted(judged.html) : element("p", {}, judged.said));
        if (judged.counts || judged.said) return this.answered(form, field);
      } catch (error) {
        verdict.replaceChildren(element("p", {}, error.message));
      }
      submit.disabled = false;
    };
    const skip = () => {
      this.skipped.push(question);
      this.next();
    };
    const form = element(
      "form",
      { onsubmit: answer },
      element("label", {}, words["your-answer"], field),
      element("div", { class: "roofline-actions" }, submit, this.button(words.skip, skip), this.closing()),
    );
    this.node.replaceChildren(trusted(html, { class: "roofline-question" }), form, verdict);
    field.focus();
  }

  answered(form, field) {
    field.readOnly = true;
    const next = this.button(this.the.words["next-question"], () => this.next());
    next.classList.add("roofline-first");
    form.querySelector(".roofline-actions").replaceChildren(next, this.closing());
    next.focus();
    this.changed();
  }

  end(said) {
    this.skipped = [];
    this.node.replaceChildren(element("p", { role: "status" }, said), this.closing());
    this.node.querySelector("button").focus();
  }

  closing() {
    return this.button(this.the.words.close, () => {
      this.skipped = [];
      this.node.hidden = true;
      this.changed();
    });
  }

  button(text, onclick) {
    return element("button", { type: "button", onclick }, text);
  }
}
