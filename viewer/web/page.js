const $ = (id) => document.getElementById(id);
const form = $("settings"), field = form.elements, canvas = $("canvas"), stage = $("stage");
const PIXELS_MAX = 4e6; // larger pictures are reduced

// --- the program in workers ---------------------------------------------------------------------

const bytesOf = (id) => Uint8Array.from(atob($(id).textContent), (c) => c.charCodeAt(0));
const module = new Promise((resolve) => setTimeout(resolve)) // after the first paint
  .then(() => WebAssembly.compile(bytesOf("wasm")));
const script = URL.createObjectURL(new Blob([$("worker").textContent], {type: "text/javascript"}));

// A worker with one run of the program. A change ends it and takes another: nothing has to be asked.
class Engine {
  waiting = [];

  constructor() {
    this.worker = new Worker(script);
    this.worker.onmessage = ({data}) => {
      if (data.frame) return this.onframe?.(data.frame);
      const {resolve, reject} = this.waiting.shift();
      data.error ? reject(new Error(data.error)) : resolve(data);
    };
    this.ready = module.then((m) => this.ask({module: m}));
    this.ready.catch(fail);
  }

  ask(message) {
    return new Promise((resolve, reject) => {
      this.waiting.push({resolve, reject});
      this.worker.postMessage(message);
    });
  }

  end() { this.worker.terminate(); }
}

let spare = new Engine();
function takeEngine() {
  const engine = spare;
  spare = new Engine();
  return engine;
}

// --- the state ----------------------------------------------------------------------------------

let picture = null; // {name, bytes, width, height, ink, outline: it is one, saved: what the command needs}
let engine = null; // of the run that is shown or going on
let running = ""; // "start", "follow", "again" or "order"
let shown = null; // {sites, count, radius, figures, geometry, final: of the settings alone, mesh: of an outline}
let solved = ""; // the words of the last run
let settled = null; // the sites of the last run from the start, in their order
let ratios = [], began = 0, later = 0;
const camera = {zoom: 1, x: 0, y: 0}; // x, y: shift in CSS pixels

const view = () => form.elements.view.value;
const number = (name) => +field[name].value;
const siteCount = () => +Number(10 ** number("number")).toPrecision(2);
const pageName = () => (field.page.value === "own" ? field.own.value : field.page.value);

// The page in mm, or null; as cvtm_page_place does it.
function pageSize() {
  const sizes = {A5: [148, 210], A4: [210, 297], A3: [297, 420], letter: [215.9, 279.4]};
  const name = pageName(), margin = number("margin");
  if (!name || !picture) return null;
  let [width, height] = sizes[name] ?? name.split("x").map(Number);
  if (sizes[name] && picture.width > picture.height) [width, height] = [height, width];
  const scale = Math.min((width - 2 * margin) / picture.width, (height - 2 * margin) / picture.height);
  return scale > 0 ? {width, height, scale, left: (width - scale * picture.width) / 2,
    top: (height - scale * picture.height) / 2} : null;
}

// --- the settings as words of a command ---------------------------------------------------------

const inks = () => field.inks.value;
const option = (name, value, plain) => (value === plain ? [] : ["--" + name, String(value)]);

function solveWords() {
  const black = number("black"), white = Math.max(number("white"), black + 0.01);
  return ["run", picture.name, "-n", String(siteCount()), ...option("contrast", number("contrast"), 1),
    ...option("gamma", number("gamma"), 1), ...option("flatten", number("flatten"), 0), ...(black > 0 || white < 1 ? ["--levels", `${black},${white}`] : []),
    ...(field.invert.checked ? ["--invert"] : []), ...option("colours", inks(), ""), ...sizeWords()];
}

// Dots of one size, as those of a pen, have so much ink and no more: their tones and places depend on it. 0: by tone.
const byPen = () => ["touches", "hpgl", "gcode"].includes(field.format.value) && pageName() !== "" && !picture?.outline;
const dotSize = () => (view() === "stipples" ? number("size") || (byPen() ? 0.5 : 0) : 0);
const sizeWords = () => (dotSize() ? [byPen() ? "--pen" : "--dot-size", String(dotSize()), ...pageWords()] : []);
const pageWords = () => (pageSize() ? ["--page", pageName(), ...option("margin", number("margin"), 10)] : []);

const orderWords = () => (view() === "path" ? ["--order", "tsp"] : []);

const kinds = {picture: ["svg", "touches", "png", "dxf", "hpgl", "gcode", "csv", "npy", "xyz", "msh", "vtu", "obj", "ply", "stl"],
  inks: ["svg", "touches", "png", "dxf", "hpgl", "gcode", "csv", "npy"],
  line: ["svg", "dxf", "hpgl", "gcode", "csv", "npy", "xyz"],
  outline: ["msh", "vtu", "obj", "off", "ply", "stl", "inp", "svg", "dxf"]};
const labels = {svg: "SVG: vectors", touches: "SVG: touches of a pen", png: "PNG: pixels", dxf: "DXF: laser cutters", hpgl: "HPGL: plotters",
  gcode: "G-code: plotters", csv: "CSV: points", npy: "NumPy: points", xyz: "XYZ: points", msh: "MSH: Gmsh mesh",
  vtu: "VTU: ParaView mesh", obj: "OBJ mesh", ply: "PLY mesh", stl: "STL mesh", off: "OFF mesh", inp: "INP: Abaqus mesh"};

function fileWords(extension) {
  const isDrawing = ["svg", "touches", "dxf", "hpgl", "gcode"].includes(extension);
  if (extension === "png" && !inks())
    return ["--layers", {stipples: "stipples", cells: "cell-edges", mesh: "mesh-edges"}[view()]];
  if (["msh", "vtu", "obj", "ply", "stl"].includes(extension)) return ["--domain", "none"]; // the triangles that are shown
  if (!isDrawing) return [];
  return [...option("svg", extension === "touches" ? extension : view(), "stipples"), ...(field.apart.checked && view() === "stipples" ? ["--no-overlap"] : []),
    ...(dotSize() ? [] : pageWords())];
}

const baseName = () => picture.name.replace(/\.[^.]*$/, "");
const fileName = (extension) => `${baseName()}-${picture.outline ? "mesh" : extension === "touches" ? extension : view()}.${extension}`
  .replace("-stipples", "-dots").replace(/touches$/, "svg");

function commandWords(extension) {
  const output = ["-o", fileName(extension)];
  return picture.outline ? ["mesh", picture.name, "--size", edgeLength(), ...output]
    : [...solveWords(), ...orderWords(), ...fileWords(extension), ...output];
}

const quoted = (word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : "'" + word.replaceAll("'", "'\\''") + "'");
const commandText = () => ["cvtmesh", ...commandWords(field.format.value)].map(quoted).join(" ");

// --- runs ---------------------------------------------------------------------------------------

// NumPy's format for n points.
function npy(sites) {
  const head = `\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'fortran_order': False, 'shape': (${sites.length / 2}, 2), }`;
  const bytes = new Uint8Array(128 + 8 * sites.length);
  bytes.set(Uint8Array.from(head.padEnd(127) + "\n", (c) => c.charCodeAt(0)));
  bytes.set(new Uint8Array(sites.buffer, sites.byteOffset, 8 * sites.length), 128);
  return {name: "present.npy", bytes};
}

// As many sites as the slider says: every k-th of them, or copies near them.
function resized(sites, count) {
  const from = sites.length / 2, made = new Float64Array(2 * count);
  for (let i = 0; i < count; ++i) {
    const k = count <= from ? Math.floor(i * from / count) : i % from, shift = i < from ? 0 : 1;
    for (let d = 0; d < 2; ++d) {
      const most = d ? picture.height : picture.width;
      made[2 * i + d] = Math.min(Math.max(sites[2 * k + d] + shift * (Math.random() - 0.5), 0), most);
    }
  }
  return made;
}

// start: from the picture, seen from coarse to fine. follow: from the present sites after a change.
// again: from the picture once more, so that the result depends on the settings alone, as the
// command's does. order: only the path through the sites.
async function run(how) {
  clearTimeout(later);
  engine?.end();
  const mine = engine = takeEngine();
  running = how;
  if (how !== "order") began = performance.now();
  if (how !== "order" && how !== "again") ratios = [];
  if (shown) shown.final = false;
  solved = solveWords().join(" ");
  const words = solveWords(), files = [{name: picture.name, bytes: picture.bytes}];
  if (inks()) words.push(...orderWords());
  if (how === "follow") words.push("--init", "present.npy", "--effort", "low");
  if (how === "order") words.push("--init", "present.npy", "--iterations", "0", ...orderWords());
  if (how === "follow") files.push(npy(resized(shown.sites, siteCount())));
  if (how === "order") files.push(npy(settled));
  mine.onframe = (frame) => {
    if (mine !== engine || how === "again" || how === "order") return;
    ratios.push(frame.ratio);
    if (!frame.sites) return;
    shown = {...frame, final: false};
    divide();
    refresh();
  };
  tell();
  try {
    await mine.ready;
    let {figures} = await mine.ask({give: files, run: words});
    if (mine !== engine) return;
    const final = how !== "follow", seconds = how === "order" ? shown.seconds : (performance.now() - began) / 1000;
    if (how === "start" || how === "again") settled = figures.sites;
    shown = {sites: figures.sites, count: figures.count, inks: figures.inks, figures, final, seconds};
    if (final && how !== "order" && view() === "path" && !inks()) return run("order");
    await redraw();
    if (mine !== engine) return;
    running = "";
    refresh();
    if (!final) later = setTimeout(() => run("again"), 700);
  } catch (error) {
    if (mine === engine) { running = ""; fail(error); }
  }
}

// The radii and the figures of the drawing: the program writes it, and the page shows the same.
async function redraw() {
  if (!shown) return;
  divide();
  refresh();
  const mine = engine, now = shown;
  if (!now.figures) return;
  const words = [...solveWords(), ...orderWords(), ...fileWords("svg"), "-o", "view.svg"];
  try {
    const {figures} = await mine.ask({write: "view.svg", words});
    if (mine !== engine || now !== shown) return;
    shown.figures = figures;
    shown.radius = figures.radius;
    clearError();
  } catch (error) { if (mine === engine) fail(error); }
  refresh();
}

// Cells and triangles of the sites that are shown, by another worker, so that the run need not wait.
let divider = null, dividing = false;
async function divide() {
  if (dividing || picture.outline || !["cells", "mesh"].includes(view()) || shown.geometry) return;
  dividing = true;
  divider ??= takeEngine();
  const now = shown;
  try {
    await divider.ready;
    now.geometry = await divider.ask({divide: now.sites, width: picture.width, height: picture.height});
  } catch (error) { fail(error); }
  dividing = false;
  if (now !== shown) divide();
  refresh();
}

// --- the mesh of an outline ---------------------------------------------------------------------

const edgeLength = () => String(+(Math.max(picture.width, picture.height) * 10 ** number("edge")).toPrecision(2));

async function command(extension) {
  const mine = takeEngine();
  try {
    await mine.ready;
    const name = fileName(extension);
    return (await mine.ask({give: [{name: picture.name, bytes: picture.bytes}], command: name, words: commandWords(extension)})).bytes;
  } finally { mine.end(); }
}

let meshes = 0;
async function mesh() {
  const mine = ++meshes;
  running = "start";
  began = performance.now();
  tell();
  try {
    const text = new TextDecoder().decode(await command("obj"));
    if (mine !== meshes || !picture.outline) return;
    const rows = text.split("\n").map((line) => line.split(/\s+/));
    const points = rows.filter((r) => r[0] === "v").map((r) => [+r[1] - picture.left, picture.top - r[2]]);
    const faces = rows.filter((r) => r[0] === "f").map((r) => r.slice(1, 4).map((k) => parseInt(k) - 1));
    const triangles = Int32Array.from(faces.flat());
    shown = {sites: Float64Array.from(points.flat()), count: points.length, final: true, mesh: faces.length,
      geometry: {triangles}, seconds: (performance.now() - began) / 1000, angles: anglesOf(points, faces)};
    clearError();
  } catch (error) { if (mine === meshes) fail(error); }
  if (mine === meshes) running = "";
  refresh();
}

function anglesOf(points, faces) {
  const least = faces.map((f) => Math.min(...f.map((p, k) => {
    const a = points[p], b = points[f[(k + 1) % 3]], c = points[f[(k + 2) % 3]];
    const turn = Math.atan2(b[1] - a[1], b[0] - a[0]) - Math.atan2(c[1] - a[1], c[0] - a[0]);
    return Math.abs(Math.atan2(Math.sin(turn), Math.cos(turn))) * 180 / Math.PI;
  })));
  return {minAngle: least.reduce((a, b) => Math.min(a, b), 60), meanAngle: least.reduce((a, b) => a + b, 0) / least.length};
}

// A point beside a ring, on its inner side, if an even number of rings is around the point: then it is in a hole.
function holeOf(ring, rings) {
  const heights = [...new Set(ring.map((p) => p[1]))].sort((a, b) => a - b), y = (heights[0] + heights[1]) / 2;
  const crossings = (of) => of.flatMap((a, k) => {
    const b = of[(k + 1) % of.length];
    return (a[1] > y) === (b[1] > y) ? [] : [a[0] + (y - a[1]) * (b[0] - a[0]) / (b[1] - a[1])];
  });
  const first = Math.min(...crossings(ring)), all = rings.flatMap(crossings);
  const x = (first + Math.min(...all.filter((c) => c > first))) / 2;
  return all.filter((c) => c < x).length % 2 ? [] : [[x, y]];
}

// Rings of [x, y] as one of Triangle's POLY files, with y up.
function polyOf(rings) {
  const holes = rings.flatMap((ring) => holeOf(ring, rings));
  const points = rings.flat();
  let first = 0;
  const segments = rings.flatMap((ring) => {
    const from = first;
    first += ring.length;
    return ring.map((_, k) => [from + k, from + (k + 1) % ring.length]);
  });
  return [`${points.length} 2 0 0`, ...points.map(([x, y], k) => `${k} ${x} ${y}`), `${segments.length} 0`,
    ...segments.map((s, k) => `${k} ${s.join(" ")}`), String(holes.length), ...holes.map((p, k) => `${k} ${p.join(" ")}`), ""].join("\n");
}

const closed = (ring) => (ring.length > 1 && ring[0].join() === ring.at(-1).join() ? ring.slice(0, -1) : ring);

function ringsOfGeojson(value) {
  if (Array.isArray(value)) return value.flatMap(ringsOfGeojson);
  if (value?.type === "Polygon") return value.coordinates.map(closed);
  if (value?.type === "MultiPolygon") return value.coordinates.flat().map(closed);
  return ringsOfGeojson(value?.features ?? value?.geometries ?? (value?.geometry ? [value.geometry] : []));
}

// The browser walks along the shapes; a path is cut into its parts.
function ringsOfSvg(text) {
  const holder = document.createElement("div");
  holder.style = "position:absolute;visibility:hidden;width:0;height:0;overflow:hidden";
  const parsed = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
  if (parsed.localName !== "svg") throw new Error("this is no SVG file.");
  holder.append(document.importNode(parsed, true));
  holder.querySelectorAll("script, foreignObject, image").forEach((e) => e.remove());
  document.body.append(holder);
  const rings = [], hidden = "defs, clipPath, mask, symbol, pattern, marker";
  for (const shape of holder.querySelectorAll("path, polygon, circle, ellipse, rect")) {
    if (shape.closest(hidden)) continue;
    const d = shape.getAttribute("d") ?? "", root = holder.firstChild, matrix = root.getCTM();
    const own = shape.getCTM(), place = matrix ? matrix.inverse().multiply(own) : own;
    const parts = shape.localName === "path" && /^[^a-z]*$/.test(d) ? d.split(/(?=M)/).filter((p) => p.trim()) : [null];
    for (const part of parts) {
      const one = part === null ? shape : document.createElementNS("http://www.w3.org/2000/svg", "path");
      if (part !== null) one.setAttribute("d", part);
      const corners = shape.localName === "polygon" ? [...shape.points]
        : shape.localName === "rect" ? [[0, 0], [1, 0], [1, 1], [0, 1]].map(([i, j]) => new DOMPoint(
          shape.x.baseVal.value + i * shape.width.baseVal.value, shape.y.baseVal.value + j * shape.height.baseVal.value))
        : Array.from({length: 400}, (_, k) => one.getPointAtLength(one.getTotalLength() * k / 400));
      const ring = corners.map((p) => new DOMPoint(p.x, p.y).matrixTransform(place)).map((p) => [p.x, -p.y]);
      rings.push(ring.filter((p, k) => p.join() !== ring[(k + 1) % ring.length].join()));
    }
  }
  holder.remove();
  return rings.filter((ring) => ring.length > 2);
}

// --- pictures in --------------------------------------------------------------------------------

async function open(file, name) {
  engine?.end();
  engine = shown = settled = null;
  ratios = [];
  running = "";
  clearError();
  $("hint").textContent = "Reading…";
  try {
    const isOutline = /\.(svg|json|geojson|poly)$/i.test(name);
    picture = isOutline ? await readOutline(file, name) : await readPicture(file, name);
  } catch (error) {
    $("hint").textContent = "Drop, paste or choose a picture";
    return fail(new Error(`${name}: ${error.message}`));
  }
  $("hint").textContent = "";
  $("note").hidden = !picture.note;
  $("note").textContent = picture.note ?? "";
  if (picture.saved) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Save " + picture.name;
    button.onclick = async () => save(await picture.saved(), picture.name);
    $("note").append(" ", button);
  }
  for (const part of document.querySelectorAll(".of-picture")) part.hidden = picture.outline;
  document.querySelector(".of-outline").hidden = !picture.outline;
  whole();
  listFormats();
  picture.outline ? mesh() : run("start");
}

async function readOutline(file, name) {
  const text = await file.text();
  let bytes = new Uint8Array(await file.arrayBuffer()), rings, note;
  const inside = name.replace(/[^.]*$/, "poly"); // other formats become POLY files
  if (/\.svg$/i.test(name)) {
    rings = ringsOfSvg(text);
  } else if (/json$/i.test(name)) {
    try { rings = ringsOfGeojson(JSON.parse(text)); } catch { throw new Error("this is no GeoJSON file."); }
  } else {
    const rows = text.split("\n").map((l) => l.trim().split(/\s+/).map(Number)).filter((r) => r.length > 2);
    rings = [rows.slice(1, 1 + rows[0][0]).map((r) => [r[1], r[2]])];
  }
  if (!rings.length) throw new Error("there is no polygon in this file.");
  const all = rings.flat(), x = all.map((p) => p[0]), y = all.map((p) => p[1]);
  const least = (a) => a.reduce((m, v) => Math.min(m, v), Infinity), most = (a) => -least(a.map((v) => -v));
  if (name !== inside) {
    bytes = new TextEncoder().encode(polyOf(rings));
    note = `The page works on the rings of ${name} as corners, and so does the command:`;
  }
  return {outline: true, name: inside, bytes, note, left: least(x), top: most(y),
    width: most(x) - least(x), height: most(y) - least(y), saved: note && (async () => new Blob([bytes]))};
}

async function readPicture(file, name) {
  let bitmap;
  try { bitmap = await createImageBitmap(file); } catch { throw new Error("this browser cannot read it as a picture."); }
  const pixels = bitmap.width * bitmap.height, shrink = Math.min(1, Math.sqrt(PIXELS_MAX / pixels));
  const width = Math.max(1, Math.round(bitmap.width * shrink)), height = Math.max(1, Math.round(bitmap.height * shrink));
  const sheet = Object.assign(document.createElement("canvas"), {width, height});
  const pen = sheet.getContext("2d", {willReadFrequently: true});
  pen.imageSmoothingQuality = "high";
  pen.drawImage(bitmap, 0, 0, width, height);
  let at = 3;
  for (const {data} = pen.getImageData(0, 0, width, height); data[at] === 255;) at += 4;
  pen.globalCompositeOperation = "destination-over";
  pen.fillStyle = "#fff";
  pen.fillRect(0, 0, width, height);
  const from = `${bitmap.width} x ${bitmap.height}`;
  bitmap.close();
  const made = {name, width, height, outline: false, ...pnm(pen.getImageData(0, 0, width, height).data, width, height)};
  const head = new Uint8Array(await file.slice(0, 25).arrayBuffer()), deep = head[1] === 0x50 && head[24] === 16; // of PNG
  const why = shrink < 1 ? `reduced from ${from} to ${width} x ${height} pixels` : at < 4 * width * height ? "put on white"
    : deep ? "reduced from 16 to 8 bits" : "";
  if (!why) return made;
  made.name = name.replace(/(\.[^.]*)?$/, `-${shrink < 1 ? width : "page"}.png`);
  made.note = `The picture was ${why}. The command takes the picture that is shown:`;
  made.saved = () => new Promise((resolve) => sheet.toBlob(resolve));
  return made;
}

// The pixels as the program reads them, grey if all are, and the mean ink.
function pnm(rgba, width, height) {
  const count = width * height;
  let grey = true, ink = 0;
  for (let p = 0; p < 4 * count && grey; p += 4) grey = rgba[p] === rgba[p + 1] && rgba[p] === rgba[p + 2];
  const head = new TextEncoder().encode(`P${grey ? 5 : 6}\n${width} ${height}\n255\n`);
  const bytes = new Uint8Array(head.length + (grey ? 1 : 3) * count);
  bytes.set(head);
  for (let p = 0, to = head.length; p < 4 * count; p += 4) {
    bytes[to++] = rgba[p];
    if (!grey) { bytes[to++] = rgba[p + 1]; bytes[to++] = rgba[p + 2]; }
    ink += 1 - ((0.2 * rgba[p] + 0.7 * rgba[p + 1] + 0.1 * rgba[p + 2]) / 255) ** 2.2;
  }
  return {bytes, ink: ink / count};
}

// --- the drawing --------------------------------------------------------------------------------

// mm on the page, or pixels without one, to CSS pixels.
function placement() {
  const page = picture && !picture.outline && pageSize();
  const width = page ? page.width : picture.width, height = page ? page.height : picture.height;
  const fit = 0.96 * Math.min(canvas.clientWidth / width, canvas.clientHeight / height) * camera.zoom;
  const left = (canvas.clientWidth - width * fit) / 2 + camera.x, top = (canvas.clientHeight - height * fit) / 2 + camera.y;
  const scale = page ? fit * page.scale : fit;
  return {sheet: [left, top, width * fit, height * fit], scale, x: left + (page ? page.left * fit : 0),
    y: top + (page ? page.top * fit : 0), perMm: page ? fit : 0};
}

function draw() {
  const ratio = devicePixelRatio, width = Math.round(canvas.clientWidth * ratio), height = Math.round(canvas.clientHeight * ratio);
  if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, {width, height});
  const pen = canvas.getContext("2d");
  pen.setTransform(1, 0, 0, 1, 0, 0);
  pen.clearRect(0, 0, width, height);
  if (!picture) return;
  const place = placement(), dark = field.invert.checked && !picture.outline;
  pen.scale(ratio, ratio);
  pen.fillStyle = dark ? "#000" : "#fff";
  pen.fillRect(...place.sheet);
  if (!shown) return;
  pen.translate(place.x, place.y);
  pen.scale(place.scale, place.scale);
  pen.fillStyle = pen.strokeStyle = dark ? "#fff" : "#000";
  pen.lineJoin = "round";
  pen.lineWidth = Math.max(0.7 / place.scale, 0.1 * spacing());
  const what = picture.outline ? "mesh" : view();
  if (what === "mesh" && shown.geometry) strokeTriangles(pen);
  else if (what === "cells" && shown.geometry) strokeCells(pen);
  else if (what === "path" && shown.figures && !running) strokePath(pen);
  else fillDots(pen, place);
}

const spacing = () => Math.sqrt(picture.width * picture.height / shown.count);

function fillDots(pen, place) {
  const {sites, radius, count, inks} = shown, size = dotSize();
  const fixed = size ? (place.perMm ? size * place.perMm / place.scale : size) / 2 : 0;
  const mean = Math.sqrt(picture.ink * picture.width * picture.height / (Math.PI * count)) || 0.3 * spacing();
  const discs = (first, end) => {
    pen.beginPath();
    for (let i = first; i < end; ++i) {
      const r = fixed && !field.apart.checked ? fixed : radius ? radius[i] : fixed || mean, x = sites[2 * i], y = sites[2 * i + 1];
      pen.moveTo(x + r, y);
      pen.arc(x, y, r, 0, 2 * Math.PI);
    }
    pen.fill();
  };
  if (!inks) return discs(0, count);
  pen.globalCompositeOperation = "multiply";
  inks.colours.forEach((colour, k) => { pen.fillStyle = colour; discs(inks.start[k], inks.start[k + 1]); });
  pen.globalCompositeOperation = "source-over";
}

function polygon(pen, at, from, to) {
  pen.moveTo(at[2 * from], at[2 * from + 1]);
  for (let k = from + 1; k < to; ++k) pen.lineTo(at[2 * k], at[2 * k + 1]);
  pen.closePath();
}

function strokePath(pen) {
  const {sites, count, inks} = shown, starts = inks ? inks.start : [0, count];
  for (let k = 0; k + 1 < starts.length; ++k) {
    if (inks) pen.strokeStyle = inks.colours[k];
    pen.beginPath();
    polygon(pen, sites, starts[k], starts[k + 1]);
    pen.stroke();
  }
}

function strokeCells(pen) {
  const {start, corners} = shown.geometry;
  pen.beginPath();
  for (let i = 0; i + 1 < start.length; ++i) polygon(pen, corners, start[i], start[i + 1]);
  pen.stroke();
}

function strokeTriangles(pen) {
  const {geometry: {triangles: t}, sites: p} = shown;
  pen.beginPath();
  for (let k = 0; k < t.length; k += 3) {
    pen.moveTo(p[2 * t[k]], p[2 * t[k] + 1]);
    for (const v of [t[k + 1], t[k + 2], t[k]]) pen.lineTo(p[2 * v], p[2 * v + 1]);
  }
  pen.stroke();
}

// --- words, figures and the plot ----------------------------------------------------------------

let asked = 0;
function refresh() {
  asked ||= requestAnimationFrame(() => { asked = 0; draw(); tell(); plot(); });
}

const count = (n) => Math.round(n).toLocaleString("en");

function tell() {
  const n = shown ? count(shown.count) : "", outline = picture?.outline;
  const texts = {start: outline ? "Meshing…" : shown ? `Placing ${n} of ${count(siteCount())} dots…` : "Beginning…",
    follow: `Following your changes with ${n} dots…`, again: `${n} dots follow your changes; settling once more…`,
    order: "Finding a short line through all dots…"};
  const done = shown?.mesh ? `${n} vertices, ${count(shown.mesh)} triangles, ${shown.seconds.toFixed(1)} s`
    : shown ? `Settled: ${n} dots${shown.seconds ? `, ${shown.seconds.toFixed(1)} s` : ""}` : "Choose a picture or an example.";
  const text = running ? texts[running] : shown && !shown.final ? texts.again : done;
  if ($("status").textContent !== text) $("status").textContent = text;
  document.body.dataset.state = running || (shown?.final ? "settled" : shown ? "followed" : "empty");
  $("copy").disabled = !picture;
  $("export").disabled = running !== "" || !shown?.final;
  figuresOf();
}

function figuresOf() {
  const f = shown?.mesh ? {...shown.angles} : shown?.figures, rows = [];
  const add = (term, value) => { if (value !== undefined) rows.push([term, value]); };
  const place = picture && !picture.outline && pageSize();
  if (f) {
    if (f.iterations) add("Iterations", `${f.iterations}`);
    if (f.ratio) add("Energy, of hexagons", f.ratio.toFixed(4));
    if (f.ink > 0) add("Ink, of the picture's", `${(100 * f.ink / f.pictureInk).toFixed(1)} %`);
    if (f.correlation > 0) add("Likeness", f.correlation.toFixed(4));
    if (f.meanAngle > 0) add("Smallest angles, mean", `${f.meanAngle.toFixed(1)}°`);
    if (shown.mesh) add("Smallest angle", `${f.minAngle.toFixed(1)}°`);
    if (f.degree6 > 0) add("With six neighbours", `${(100 * f.degree6).toFixed(0)} %`);
    if (place && f.length > 0) add("Line", `${(f.length * place.scale / 1000).toFixed(1)} m`);
    // A pen at 40 mm/s; between dots it travels about 0.75 of their spacing, and a dot takes 0.3 s.
    const travel = f.length > 0 ? f.length : 0.75 * Math.sqrt(picture.width * picture.height * shown.count);
    if (place && ["stipples", "path"].includes(view()))
      add("Time to plot, about", `${Math.ceil((travel * place.scale / 40 + (f.length > 0 ? 0 : 0.3 * shown.count)) / 60)} min`);
  }
  $("figures").replaceChildren(...rows.map(([term, value]) => {
    const row = document.createElement("div");
    for (const [tag, words] of [["dt", term], ["dd", value]]) row.append(Object.assign(document.createElement(tag), {textContent: words}));
    return row;
  }));
}

function plot() {
  $("plot").style.display = ratios.length > 1 ? "" : "none";
  if (ratios.length < 2) return;
  const width = stage.clientWidth, low = Math.min(...ratios) - 1e-4, height = ratios.map((r) => Math.log(Math.max(r - low, 1e-5)));
  const least = Math.min(...height), most = Math.max(...height, least + 1);
  const points = height.map((h, k) => `${(width * k / (height.length - 1)).toFixed(1)},${(6 + 78 * (most - h) / (most - least)).toFixed(1)}`);
  $("plot").setAttribute("viewBox", `0 0 ${width} 90`);
  $("plot").innerHTML = `<polyline points="${points.join(" ")}"/><text x="${width - 6}" y="14" text-anchor="end">energy, log; ${ratios.length} iterations, now ${ratios.at(-1).toFixed(4)}</text>`;
}

function fail(error) {
  const text = error.message.replace(/ \(see cvtmesh.*\)$/, "");
  $("error").textContent = text[0].toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? "" : ".");
  $("error").hidden = false;
  tell();
}
const clearError = () => { $("error").hidden = true; };

// --- files out ----------------------------------------------------------------------------------

function listFormats() {
  const list = kinds[picture?.outline ? "outline" : inks() ? "inks" : view() === "path" ? "line" : "picture"]
    .filter((e) => e !== "touches" || (view() === "stipples" && pageName()));
  const before = field.format.value;
  field.format.replaceChildren(...list.map((e) => new Option(labels[e], e, false, e === before)));
  $("command").hidden = true;
}

function save(blob, name) {
  const link = Object.assign(document.createElement("a"), {href: URL.createObjectURL(blob), download: name});
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}

// PNG is PPM from the program, compressed by the browser.
async function pngOf(ppm) {
  const head = new TextDecoder("latin1").decode(ppm.subarray(0, 64)).match(/^P6\s+(\d+)\s+(\d+)\s+255\s/);
  const width = +head[1], height = +head[2], from = head[0].length, rgba = new Uint8ClampedArray(4 * width * height).fill(255);
  for (let p = 0; p < width * height; ++p) rgba.set(ppm.subarray(from + 3 * p, from + 3 * p + 3), 4 * p);
  const sheet = Object.assign(document.createElement("canvas"), {width, height});
  sheet.getContext("2d").putImageData(new ImageData(rgba, width, height), 0, 0);
  return new Promise((resolve) => sheet.toBlob(resolve));
}

async function contents(extension) {
  if (picture.outline) return new Blob([await command(extension)]);
  const inside = extension === "png" ? "ppm" : extension, name = fileName(inside);
  const {bytes} = await engine.ask({write: name, words: [...solveWords(), ...orderWords(), ...fileWords(extension), "-o", name]});
  return extension === "png" ? pngOf(bytes) : new Blob([bytes]);
}

async function exportFile() {
  try {
    clearError();
    save(await contents(field.format.value), fileName(field.format.value));
  } catch (error) { fail(error); }
}

async function copyCommand() {
  $("command").textContent = commandText();
  $("command").hidden = false;
  try {
    await navigator.clipboard.writeText(commandText());
    $("copy").textContent = "Copied";
  } catch { getSelection().selectAllChildren($("command")); }
  setTimeout(() => { $("copy").textContent = "Copy as command"; }, 1500);
}

// --- events -------------------------------------------------------------------------------------

const texts = {number: () => count(siteCount()), edge: () => (picture?.outline ? edgeLength() : ""),
  size: () => (dotSize() ? `${dotSize()} ${pageName() ? "mm" : "px"}` : "by tone"), margin: () => `${number("margin")} mm`};
function showValues() {
  for (const input of form.querySelectorAll("input[type=range]"))
    input.parentElement.querySelector(".value").textContent = (texts[input.name] ?? (() => input.value))();
  $("own").hidden = field.page.value !== "own";
}

// Redrawing waits for a frame; the radii of the program follow when the slider rests.
function change(name) {
  showValues();
  $("command").hidden = true;
  if (["view", "inks", "page"].includes(name)) listFormats();
  if (!picture) return;
  if (picture.outline) return name === "edge" ? mesh() : undefined;
  if (name === "invert" && shown) shown.radius = null;
  const changed = solveWords().join(" ") !== solved;
  if ((changed && (name === "inks" || inks() || !shown)) || (name === "view" && inks())) run("start");
  else if (changed) run("follow");
  else if (name === "view" && settled && (!running || running === "order")) run("order");
  else {
    refresh();
    clearTimeout(resting);
    resting = setTimeout(redraw, 120);
  }
}
let resting = 0;

form.oninput = ({target}) => change(target.name);
form.onsubmit = (event) => event.preventDefault();
form.onreset = () => setTimeout(() => { showValues(); listFormats(); if (picture) picture.outline ? mesh() : run("start"); });
$("export").onclick = exportFile;
$("copy").onclick = copyCommand;
$("file").onchange = ({target}) => { if (target.files[0]) open(target.files[0], target.files[0].name); target.value = ""; };
for (const button of document.querySelectorAll("[data-example]"))
  button.onclick = () => open(new Blob([bytesOf(button.dataset.example)], {type: "image/png"}), button.dataset.example);

addEventListener("dragover", (event) => { event.preventDefault(); document.body.classList.add("drop"); });
addEventListener("dragleave", () => document.body.classList.remove("drop"));
addEventListener("drop", (event) => {
  event.preventDefault();
  document.body.classList.remove("drop");
  const file = event.dataTransfer.files[0];
  if (file) open(file, file.name);
});
addEventListener("paste", ({clipboardData}) => {
  const file = clipboardData.files[0];
  if (file) open(file, file.name || "pasted.png");
});

function zoom(factor, x = canvas.clientWidth / 2, y = canvas.clientHeight / 2) {
  const to = Math.min(Math.max(camera.zoom * factor, 0.5), 200), k = to / camera.zoom;
  camera.x = (camera.x - (x - canvas.clientWidth / 2)) * k + (x - canvas.clientWidth / 2);
  camera.y = (camera.y - (y - canvas.clientHeight / 2)) * k + (y - canvas.clientHeight / 2);
  camera.zoom = to;
  refresh();
}
function move(x, y) { camera.x += x; camera.y += y; refresh(); }
function whole() { Object.assign(camera, {zoom: 1, x: 0, y: 0}); refresh(); }
canvas.addEventListener("wheel", (event) => {
  event.preventDefault();
  zoom(Math.exp(-event.deltaY / 400), event.offsetX, event.offsetY);
}, {passive: false});
const fingers = new Map();
canvas.onpointerdown = (event) => { canvas.setPointerCapture(event.pointerId); fingers.set(event.pointerId, event); };
canvas.onpointerup = canvas.onpointercancel = (event) => fingers.delete(event.pointerId);
canvas.onpointermove = (event) => {
  const before = fingers.get(event.pointerId);
  if (!before) return;
  const other = [...fingers.values()].find((f) => f.pointerId !== event.pointerId);
  const apart = (f) => Math.hypot(f.offsetX - other.offsetX, f.offsetY - other.offsetY);
  if (other) zoom(apart(event) / Math.max(apart(before), 1), other.offsetX, other.offsetY);
  else move(event.offsetX - before.offsetX, event.offsetY - before.offsetY);
  fingers.set(event.pointerId, event);
};
canvas.onclick = () => { if (!picture) $("file").click(); };
canvas.onkeydown = ({key}) => {
  const keys = {Enter: canvas.onclick, "+": () => zoom(1.25), "=": () => zoom(1.25), "-": () => zoom(0.8), "0": whole, ArrowLeft: () => move(40, 0),
    ArrowRight: () => move(-40, 0), ArrowUp: () => move(0, 40), ArrowDown: () => move(0, -40)};
  keys[key]?.();
};
$("larger").onclick = () => zoom(1.4);
$("smaller").onclick = () => zoom(1 / 1.4);
$("whole").onclick = whole;
new ResizeObserver(refresh).observe(canvas);

showValues();
listFormats();
tell();
plot();
document.querySelector(`[data-example="${CSS.escape(location.hash.slice(1))}"]`)?.click(); // page.html#camera.png
