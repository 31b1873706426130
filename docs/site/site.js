// Theme, menu on narrow screens, search, and buttons that copy code. Pages can be read without it.
"use strict";

const page = document.documentElement;
page.dataset.script = "";

const storedTheme = () => { try { return localStorage.getItem("theme"); } catch { return null; } };
if (storedTheme()) page.dataset.theme = storedTheme();

addEventListener("DOMContentLoaded", () => {
    themeButton(document.getElementById("theme-button"));
    menuButton(document.getElementById("menu-button"), document.getElementById("menu"));
    search(document.getElementById("search"), document.getElementById("results"));
    document.querySelectorAll("main pre").forEach(copyButton);
});

function themeButton(button) {
    const dark = () => (page.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"))
        === "dark";
    const name = () => { button.textContent = dark() ? "Light" : "Dark"; };
    button.addEventListener("click", () => {
        page.dataset.theme = dark() ? "light" : "dark";
        // Pages from the disk may have no storage.
        try { localStorage.setItem("theme", page.dataset.theme); } catch { }
        name();
    });
    name();
}

function menuButton(button, menu) {
    button.addEventListener("click", () => {
        button.setAttribute("aria-expanded", menu.classList.toggle("open"));
    });
}

function copyButton(pre) {
    const box = document.createElement("div");
    box.className = "code";
    pre.replaceWith(box);
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
        await navigator.clipboard.writeText(pre.textContent);
        button.textContent = "Copied";
        setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
    box.append(pre, button);
}

function search(input, results) {
    const [status, list] = results.children;
    let index = null;

    // A script, as pages that are opened from the disk may not fetch.
    const load = () => index ??= new Promise(resolve => {
        const script = document.createElement("script");
        script.src = page.dataset.root + "search-index.js";
        script.addEventListener("load", () => resolve(searchIndex.map(([address, title, heading, text]) => ({
            address, title, heading, text,
            lower: text.toLowerCase(),
            head: (title + " " + heading).toLowerCase(),
        }))));
        document.head.append(script);
    });

    const close = () => { results.hidden = true; };
    const links = () => [...list.querySelectorAll("a")];

    async function show() {
        const terms = input.value.toLowerCase().split(/\s+/).filter(term => term.length > 0);
        if (terms.length === 0) {
            close();
            return;
        }
        const found = (await load()).map(passage => ({ passage, score: score(passage, terms) }))
            .filter(hit => hit.score > 0).sort((a, b) => b.score - a.score);
        list.replaceChildren(...found.slice(0, 20).map(hit => entry(hit.passage, terms)));
        status.textContent = found.length === 0 ? "Nothing found" : found.length + " found";
        results.hidden = false;
    }

    function score(passage, terms) {
        let sum = 0;
        for (const term of terms) {
            const inHead = passage.head.includes(term);
            const inText = passage.lower.includes(term);
            if (!inHead && !inText) return 0;
            sum += (inHead ? 10 : 0) + (inText ? 1 + Math.min(3, passage.lower.split(term).length - 2) : 0);
        }
        return passage.address.includes("/decisions/") ? sum / 3 : sum;
    }

    function entry(passage, terms) {
        const link = document.createElement("a");
        link.href = page.dataset.root + passage.address;
        const title = document.createElement("strong");
        title.textContent = passage.title + (passage.heading === passage.title ? "" : " › " + passage.heading);
        const places = terms.map(term => passage.lower.indexOf(term)).filter(at => at >= 0);
        const start = places.length === 0 ? 0 : Math.max(0, Math.min(...places) - 60);
        const excerpt = (start > 0 ? "… " : "") + passage.text.slice(start, start + 160) + " …";
        link.append(title, ...marked(excerpt, terms));
        link.addEventListener("click", close);
        const item = document.createElement("li");
        item.append(link);
        return item;
    }

    function marked(text, terms) {
        const literal = term => term.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
        const pattern = new RegExp("(" + terms.map(literal).join("|") + ")", "gi");
        return text.split(pattern).map((part, i) => {
            if (i % 2 === 0) return document.createTextNode(part);
            const mark = document.createElement("mark");
            mark.textContent = part;
            return mark;
        });
    }

    input.addEventListener("focus", load);
    input.addEventListener("input", show);
    input.addEventListener("keydown", event => {
        if (event.key === "Enter") links()[0]?.click();
    });
    addEventListener("keydown", event => {
        const inSearch = !results.hidden && input.parentElement.contains(document.activeElement);
        if (event.key === "/" && !/^(INPUT|TEXTAREA)$/.test(document.activeElement.tagName)) {
            event.preventDefault();
            input.focus();
            input.select();
        } else if (event.key === "Escape" && !results.hidden) {
            close();
            input.focus();
        } else if (/^Arrow(Up|Down)$/.test(event.key) && inSearch) {
            event.preventDefault();
            const stops = [input, ...links()];
            const at = stops.indexOf(document.activeElement) + (event.key === "ArrowDown" ? 1 : -1);
            stops[Math.min(stops.length - 1, Math.max(0, at))].focus();
        }
    });
    addEventListener("click", event => {
        if (!input.parentElement.contains(event.target)) close();
    });
}
