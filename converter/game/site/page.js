// The gallery: a list of models by archive, and a viewer over it. Whatever comes out of a game's
// files goes into the page as text, never as markup.
"use strict";

const MSH_GALLERY = (() => {
  const $ = (id) => document.getElementById(id);
  const cards = new Map(); // target -> { model, link, item, section, words }
  const sections = [];
  let order = []; // targets that the search leaves, as on the page
  let viewer = null; // made when the first model is opened
  let current = null; // target of the model that is open
  let waiting = null; // { target, done } of the script that is on its way
  let clip = { frames: 1, fps: 24, playing: false, frame: 0, then: 0, ranges: [], first: 0, last: 0, speed: 24 };

  const element = (tag, className, text) => {
    const out = document.createElement(tag);
    if (className) out.className = className;
    if (text !== undefined) out.textContent = text;
    return out;
  };
  const plural = (count, one, many = `${one}s`) =>
    `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
  const address = (path) => path.split("/").map(encodeURIComponent).join("/");
  const version = (model) => `?v=${model.digest.slice(0, 12)}`;

  // ------------------------------------------------------------------ the list

  /** Called by models.js. */
  function models(list) {
    const archives = new Map();
    for (const model of list) {
      if (!archives.has(model.archive)) archives.set(model.archive, []);
      archives.get(model.archive).push(model);
    }
    for (const [name, members] of archives) $("archives").append(section(name, members));
    filter();
    $("search").addEventListener("input", filter);
    addEventListener("hashchange", follow);
    addEventListener("keydown", key);
    connect();
    follow();
  }

  function section(name, members) {
    const out = element("section");
    const title = element("h2", "", name || "Files at the top");
    const count = element("small");
    const grid = element("ul", "grid");
    title.append(" ", count);
    out.append(title, grid);
    const here = { out, count, items: [] };
    sections.push(here);
    for (const model of members) {
      const item = element("li");
      const link = element("a", "card");
      link.href = `#${address(model.target)}`;
      const text = element("span", "text");
      const called = element("span", "name");
      // a long name may be broken after these
      for (const piece of model.name.split(/(?<=[_.])/)) called.append(piece, element("wbr"));
      text.append(called, element("span", "facts", facts(model)));
      link.append(picture(model), text);
      item.append(link);
      grid.append(item);
      const words = `${model.archive} ${model.name} ${model.target} ${model.kind}`.toLowerCase();
      const card = { model, link, item, words };
      cards.set(model.target, card);
      here.items.push(card);
    }
    return out;
  }

  function picture(model) {
    const out = element("span", "picture");
    if (!model.picture) {
      out.textContent = "no picture";
      return out;
    }
    const image = element("img");
    image.loading = "lazy";
    image.decoding = "async";
    image.width = 320;
    image.height = 240;
    image.alt = "";
    image.src = `gallery/models/${address(model.target)}.png${version(model)}`;
    out.append(image);
    return out;
  }

  function facts(model) {
    const out = [plural(model.triangles, "triangle")];
    if (model.kind === "model") out.push(plural(model.nodes, "node"));
    else out.unshift(model.kind);
    if (model.frames > 1) out.push(plural(model.frames, "frame"));
    return out.join(", ");
  }

  /** Show the models that have every word of the search in their names. */
  function filter() {
    const words = $("search").value.toLowerCase().split(/\s+/).filter(Boolean);
    order = [];
    for (const { out, count, items } of sections) {
      let left = 0;
      for (const { model, item, words: known } of items) {
        const fits = words.every((word) => known.includes(word));
        item.hidden = !fits;
        if (!fits) continue;
        left += 1;
        order.push(model.target);
      }
      out.hidden = !left;
      count.textContent = left === items.length ? `${left}` : `${left} of ${items.length}`;
    }
    const shown = sections.filter(({ out }) => !out.hidden).length;
    $("count").textContent = order.length
      ? `${plural(order.length, "model")} in ${plural(shown, "archive or folder", "archives and folders")}`
      : `none of ${plural(cards.size, "model")} has this in its name`;
  }

  // ------------------------------------------------------------------ keys and addresses

  function key(event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const typing = event.target.closest?.("input, select, textarea");
    if ($("viewer").open) {
      if (typing) return;
      if (event.key === "ArrowLeft") step(-1);
      else if (event.key === "ArrowRight") step(1);
      else return;
      event.preventDefault();
    } else if (event.key === "/" && !typing) {
      $("search").focus();
      $("search").select();
      event.preventDefault();
    } else if (event.key === "Escape" && typing) {
      $("search").value = "";
      filter();
    } else if (event.key.startsWith("Arrow") && (!typing || event.key === "ArrowDown")) {
      move(event);
    }
  }

  /** Arrow keys from card to card; down from the search goes to the first. */
  function move(event) {
    const links = order.map((target) => cards.get(target).link);
    const from = links.indexOf(document.activeElement);
    let to = null;
    if (from < 0) {
      if (document.activeElement === $("search")) to = links[0];
    } else if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
      to = links[from + (event.key === "ArrowLeft" ? -1 : 1)];
    } else {
      const down = event.key === "ArrowDown";
      const { left, top } = links[from].getBoundingClientRect();
      const others = down ? links.slice(from + 1) : links.slice(0, from).reverse();
      const beyond = (link) => (down ? 1 : -1) * (link.getBoundingClientRect().top - top) > 1;
      const row = others.find(beyond)?.getBoundingClientRect().top;
      const near = others.filter((link) => link.getBoundingClientRect().top === row);
      const off = (link) => Math.abs(link.getBoundingClientRect().left - left);
      near.sort((a, b) => off(a) - off(b));
      to = near[0];
    }
    if (!to) return;
    to.focus();
    event.preventDefault();
  }

  function step(by) {
    const list = order.includes(current) ? order : [...cards.keys()];
    const to = list[(list.indexOf(current) + by + list.length) % list.length];
    history.replaceState(null, "", `#${address(to)}`);
    follow();
  }

  /** Do what the address says: open a model, or close the viewer. */
  function follow() {
    const hash = location.hash.slice(1);
    let target = hash;
    try {
      target = decodeURIComponent(hash);
    } catch {
      // typed by hand, with a % that starts no escape
    }
    const card = cards.get(target) ?? cards.get(hash);
    if (card) open(card.model);
    else if ($("viewer").open) $("viewer").close();
  }

  // ------------------------------------------------------------------ the viewer

  function connect() {
    const dialog = $("viewer");
    dialog.addEventListener("close", () => {
      const last = current;
      current = null;
      play(false);
      viewer?.close();
      if (location.hash) history.replaceState(null, "", location.pathname + location.search);
      cards.get(last)?.link.focus();
    });
    $("close").addEventListener("click", () => dialog.close());
    $("previous").addEventListener("click", () => step(-1));
    $("next").addEventListener("click", () => step(1));
    $("reset").addEventListener("click", () => viewer?.look());
    $("play").addEventListener("click", () => play(!clip.playing));
    for (const id of ["lod", "group", "cockpit"]) $(id).addEventListener("change", show);
    $("range").addEventListener("change", () => {
      choose(Number($("range").value));
      play(true);
    });
    $("frame").addEventListener("input", () => {
      play(false);
      seek(Number($("frame").value));
    });
  }

  async function open(model) {
    if (current === model.target) return;
    current = model.target;
    play(false);
    viewer?.close();
    $("name").textContent = model.name;
    $("source").textContent = model.archive;
    $("facts").textContent = [
      plural(model.nodes, "node"),
      model.frames > 1 ? `${plural(model.frames, "frame")}` : "no animation",
    ].join(", ");
    $("file").href = address(model.file);
    for (const id of ["lod", "group", "cockpit", "clip"]) $(`${id}-control`).hidden = true;
    $("triangles").textContent = "";
    say("Loading ...");
    if (!$("viewer").open) {
      $("viewer").showModal();
      $("close").focus();
    }
    try {
      await load("gallery/viewer.js", () => window.MshViewer);
      if (current !== model.target) return;
      const glb = await data(model);
      if (current !== model.target) return;
      viewer ??= new window.MshViewer($("canvas"));
      const choices = await viewer.open(glb);
      if (current !== model.target) return;
      offer(choices);
    } catch (error) {
      if (current === model.target) say(`Cannot be shown: ${error.message ?? error}`);
    }
  }

  /** Set the controls to what a model has. */
  function offer({ lods, groups, called, names, cockpit, frames, fps, ranges, lod, group }) {
    options("lod", called[0], lods, lod, []);
    options("group", called[1], groups, group, names);
    $("cockpit").checked = false;
    $("cockpit-control").hidden = !cockpit;
    $("clip-control").hidden = frames < 2;
    clip = { frames, fps, playing: false, frame: 0, then: 0, ranges: [{ first: 0, last: frames - 1, speed: fps }] };
    const titles = ["all"];
    for (const line of ranges.split("\n")) {
      const match = /^([\d.]+)-([\d.]+);([\d.]*);(-?[\d.]*)$/.exec(line);
      if (!match) continue;
      const [first, last] = [Number(match[1]), Number(match[2])];
      if (!(first < last && last < frames)) continue;
      const seconds = Number(match[3]);
      clip.ranges.push({ first, last, speed: seconds ? (last - first) / seconds : fps });
      const took = seconds ? ` in ${Number(seconds.toPrecision(3))} s` : "";
      titles.push(`${first}..${last}${took}${Number(match[4]) ? ` at ${match[4]} m/s` : ""}`);
    }
    $("range").replaceChildren(...titles.map((title, i) => new Option(title, `${i}`)));
    $("range-control").hidden = titles.length < 2;
    choose(0);
    show();
  }

  /** Play one range of frames, as the unit's controller does; the first is the whole clip. */
  function choose(number) {
    Object.assign(clip, clip.ranges[number]);
    $("frame").min = clip.first;
    $("frame").max = clip.last;
    seek(clip.first);
  }

  function options(id, called, values, chosen, names) {
    $(id).replaceChildren(
      ...values.map((value) => new Option(names[value] ?? `${value}`, `${value}`)),
    );
    $(id).value = `${chosen}`;
    document.querySelector(`label[for=${id}]`).textContent = called;
    $(`${id}-control`).hidden = values.length < 2;
  }

  function show() {
    const lod = Number($("lod").value);
    const group = Number($("group").value);
    const count = viewer.show(lod, group, $("cockpit").checked);
    $("triangles").textContent = plural(count, "triangle");
    const empty = !viewer.seen().length;
    say(empty ? "No part of the model has this level and stage: the game draws nothing." : "");
  }

  function say(text) {
    $("message").textContent = text;
  }

  function seek(frame) {
    clip.frame = frame;
    viewer.seek(frame);
    $("frame").value = frame;
    $("at").textContent = `frame ${Math.round(frame)} of ${clip.frames - 1}`;
  }

  function play(on) {
    clip.playing = on;
    $("play").textContent = on ? "Pause" : "Play";
    $("play").setAttribute("aria-pressed", on);
    if (!on) return;
    clip.then = performance.now();
    const mine = clip;
    const tick = (now) => {
      if (!clip.playing || clip !== mine) return;
      const passed = (Math.max(0, now - clip.then) / 1000) * clip.speed;
      clip.then = now;
      seek(clip.first + ((clip.frame - clip.first + passed) % (clip.last - clip.first)));
      requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
  }

  // ------------------------------------------------------------------ scripts as data

  function load(source, has) {
    return new Promise((resolve, reject) => {
      if (has()) return resolve();
      const script = element("script");
      script.addEventListener("load", () => {
        script.remove();
        if (has()) resolve();
        else reject(new Error(`${source} is broken`));
      });
      script.addEventListener("error", () => {
        script.remove();
        reject(new Error(`${source} is missing; run msh2gltf --thumbnails again`));
      });
      script.src = source;
      document.head.append(script);
    });
  }

  /** The bytes of a model's .glb. */
  async function data(model) {
    let bytes = null;
    waiting = {
      target: model.target,
      done: (text) => {
        bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
      },
    };
    await load(`gallery/models/${address(model.target)}.js${version(model)}`, () => bytes);
    return bytes.buffer;
  }

  /** Called by a model's script. */
  function model(target, digest, text) {
    if (waiting?.target === target) waiting.done(text);
  }

  return { models, model };
})();
