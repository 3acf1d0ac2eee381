// Shows one model with three.js. `npm ci && npm run build` makes converter/game/site/viewer.js of
// it: one classic script, because a page opened from a disk may load neither modules nor files.
import {
  AdditiveBlending,
  AnimationMixer,
  Box3,
  DirectionalLight,
  Euler,
  Group,
  HemisphereLight,
  MathUtils,
  Matrix4,
  MeshLambertMaterial,
  PerspectiveCamera,
  Scene,
  Vector3,
  WebGLRenderer,
} from "three";
import { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";
import { GLTFLoader } from "three/examples/jsm/loaders/GLTFLoader.js";

const COCKPIT_FLAG = 0x20;
const CELLS = 15; // 3 rows by 5 columns of a slot table; the layers behind them are the cockpit's
const VIEW_ANGLE = 30; // the thumbnails' camera: converter/game/thumbnails.py
const HEADING = MathUtils.degToRad(145);
const PITCH = MathUtils.degToRad(24);
const MARGIN = 1.06;

class Viewer {
  /** @param {HTMLCanvasElement} canvas Throws where the browser has no WebGL. */
  constructor(canvas) {
    this.canvas = canvas;
    this.renderer = new WebGLRenderer({ canvas, antialias: true, alpha: true });
    this.renderer.setPixelRatio(Math.min(window.devicePixelRatio, 2));
    this.camera = new PerspectiveCamera(VIEW_ANGLE);
    this.controls = new OrbitControls(this.camera, canvas);
    this.controls.addEventListener("change", () => this.draw());
    this.world = new Scene();
    this.world.add(this.camera);
    const sky = new HemisphereLight(0xffffff, 0x667080, 1.6);
    const lamp = new DirectionalLight(0xffffff, 2.2);
    lamp.position.set(-0.6, 1, 1);
    sky.layers.enableAll();
    lamp.layers.enableAll();
    this.camera.add(lamp, lamp.target);
    lamp.target.position.set(0, 0, -1);
    this.world.add(sky);
    this.root = null;
    this.moved = false; // whether the user has turned the model or gone nearer
    this.controls.addEventListener("start", () => (this.moved = true));
    const fit = () => (this.root && !this.moved ? this.look() : this.resize());
    new ResizeObserver(fit).observe(canvas);
  }

  /**
   * Take a model apart into cells.
   * @param {ArrayBuffer} glb
   * @returns what can be chosen: rows, columns and what they are called, cockpit, frames, fps, and what is shown first.
   */
  async open(glb) {
    this.close();
    const gltf = await new GLTFLoader().parseAsync(glb, "");
    const info = gltf.scene.userData.msh ?? {};
    this.gltf = gltf;
    this.root = new Group();
    this.root.add(gltf.scene);
    this.layers = new Set();
    this.materials = new Map(); // of the file -> as it is shown
    const model = info.kind === "model";
    const first = model ? { lod: info.lod ?? 0, group: info.group ?? 0 } : { lod: 0, group: 0 };
    const homes = new Map();
    gltf.scene.traverse((object) => {
      const about = object.userData.msh ?? {};
      if (about.node !== undefined) homes.set(about.node, object);
      if (drawn(object)) this.put(object, first.lod, first.group, false);
    });
    gltf.scenes.forEach((scene, number) => {
      if (scene === gltf.scene) return;
      for (const part of [...scene.children]) {
        const about = part.userData.msh ?? {};
        const home = homes.get(about.node);
        const cockpit = ((home?.userData.msh.flags ?? 0) & COCKPIT_FLAG) !== 0;
        if (home) {
          // its vertices are in its node's frame: as a child it moves like the node
          part.position.set(0, 0, 0);
          part.quaternion.identity();
          part.scale.set(1, 1, 1);
        }
        const [lod, group] = model ? [about.lod ?? 0, about.group ?? 0] : [0, number];
        part.traverse((object) => {
          if (drawn(object)) this.put(object, lod, group, cockpit);
        });
        (home ?? gltf.scene).add(part);
      }
    });
    this.world.add(this.root);
    this.mixer = new AnimationMixer(gltf.scene);
    this.clip = gltf.animations[0] ? this.mixer.clipAction(gltf.animations[0]) : null;
    this.clip?.play();
    this.fps = info.fps ?? 24;
    this.frames = this.clip ? (info.frame_count ?? 1) : 1;
    this.show(first.lod, first.group, false);
    this.seek(0);
    this.look();
    const cells = [...this.layers].map((layer) => layer % CELLS);
    const scenes = gltf.scenes.map((scene) => scene.name);
    const columns = info.dialect === "spec" ? [] : [0, 1, 2, 3, "view"];
    const called = info.dialect === "spec" ? ["LOD", "Group"] : ["Damage stage", "Level of detail"];
    return {
      lods: sorted(cells.map((cell) => Math.floor(cell / 5)), first.lod),
      groups: sorted(cells.map((cell) => cell % 5), first.group),
      called: model ? called : ["", info.kind === "terrain" ? "Level of detail" : "Shown"],
      names: model ? columns : [info.kind === "terrain" ? "fine" : "all", ...scenes.slice(1)],
      cockpit: [...this.layers].some((layer) => layer >= CELLS),
      frames: this.frames,
      fps: this.fps,
      ranges: typeof info.ranges === "string" ? info.ranges : "", // a line each: first-last;seconds;m/s
      ...first,
    };
  }

  put(object, lod, group, cockpit) {
    const layer = lod * 5 + group + (cockpit ? CELLS : 0);
    object.layers.set(layer);
    this.layers.add(layer);
    if (object.isMesh) object.material = this.matt(object.material);
  }

  /** A material that only scatters light, as the game's do: quick even without a graphics card. */
  matt(found) {
    if (!this.materials.has(found)) {
      const { map, color, emissive, emissiveMap, opacity, transparent, alphaTest, side } = found;
      const { depthWrite, vertexColors, userData } = found;
      const made = new MeshLambertMaterial({
        map, color, emissive, emissiveMap, opacity, transparent, alphaTest, side, depthWrite,
        vertexColors, userData,
      });
      made.forceSinglePass = true; // back and front together, as the game draws them
      if (userData.msh?.additive) {
        made.blending = AdditiveBlending; // glTF cannot say it
        made.transparent = true;
        made.depthWrite = false;
      }
      this.materials.set(found, made);
    }
    return this.materials.get(found);
  }

  /** Show the parts of a cell; returns how many triangles that are. */
  show(lod, group, cockpit) {
    const layer = lod * 5 + group;
    this.camera.layers.set(layer);
    if (cockpit) this.camera.layers.enable(layer + CELLS);
    let triangles = 0;
    for (const object of this.seen()) {
      if (!object.isMesh) continue;
      const { index, attributes } = object.geometry;
      triangles += Math.floor((index ?? attributes.position).count / 3);
    }
    this.draw();
    return triangles;
  }

  seen() {
    const out = [];
    this.root.traverse((object) => {
      if (drawn(object) && object.layers.test(this.camera.layers)) out.push(object);
    });
    return out;
  }

  /** Pose the model at a frame; between two frames the clip is linear. */
  seek(frame) {
    if (!this.clip) return;
    this.clip.time = frame / this.fps;
    this.mixer.update(0);
    this.draw();
  }

  /** Put the camera where it sees all that is shown; camera_place of thumbnails.py does the same. */
  look() {
    this.moved = false;
    this.resize();
    const turn = new Matrix4().makeRotationFromEuler(new Euler(-PITCH, HEADING, 0, "YXZ"));
    const seen = this.corners(turn.clone().invert());
    const box = new Box3().setFromPoints(seen);
    if (box.isEmpty()) box.set(new Vector3(-1, -1, -1), new Vector3(1, 1, 1));
    const middle = box.getCenter(new Vector3());
    const high = Math.tan(MathUtils.degToRad(VIEW_ANGLE / 2));
    let distance = 1e-3;
    for (const point of seen) {
      point.sub(middle);
      const across = Math.abs(point.x) / (high * this.camera.aspect);
      distance = Math.max(distance, Math.max(across, Math.abs(point.y) / high) + point.z);
    }
    const size = box.getSize(new Vector3()).length() || 1;
    this.camera.near = size / 1000;
    this.camera.far = distance * 4 + size * 20;
    this.camera.position.set(0, 0, distance * MARGIN).add(middle).applyMatrix4(turn);
    this.camera.updateProjectionMatrix();
    this.controls.target.copy(middle).applyMatrix4(turn);
    this.controls.maxDistance = distance * 4 + size * 8;
    this.controls.update();
    this.draw();
  }

  /** Every corner of what is shown, in the axes that a matrix leads to. */
  corners(matrix) {
    this.root.updateMatrixWorld(true);
    const out = [];
    for (const object of this.seen()) {
      const place = matrix.clone().multiply(object.matrixWorld);
      const { index, attributes } = object.geometry;
      const rows = new Set(index ? index.array : Array(attributes.position.count).keys());
      for (const row of rows) {
        out.push(new Vector3().fromBufferAttribute(attributes.position, row).applyMatrix4(place));
      }
    }
    return out;
  }

  resize() {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    if (!width || !height) return;
    this.renderer.setSize(width, height, false);
    this.camera.aspect = width / height;
    this.camera.updateProjectionMatrix();
    this.draw(true);
  }

  /** Draw once before the next picture of the screen, however often it is asked for. */
  draw(now = false) {
    if (now) this.renderer.render(this.world, this.camera);
    else
      this.waiting ??= requestAnimationFrame(() => {
        this.waiting = null;
        this.renderer.render(this.world, this.camera);
      });
  }

  /** Forget the model, and give its memory back. */
  close() {
    if (!this.root) return;
    this.mixer.stopAllAction();
    this.root.traverse((object) => {
      object.geometry?.dispose();
      for (const material of [object.material ?? []].flat()) {
        for (const value of Object.values(material)) {
          if (!value?.isTexture) continue;
          value.image?.close?.();
          value.dispose();
        }
        material.dispose();
      }
    });
    this.root.removeFromParent();
    this.root = this.gltf = this.clip = null;
    this.renderer.renderLists.dispose();
    this.draw();
  }
}

const drawn = (object) => object.isMesh || object.isLine || object.isPoints;
const sorted = (values, first) => [...new Set([...values, first])].sort((a, b) => a - b);

window.MshViewer = Viewer;
