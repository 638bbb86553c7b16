// Two short sounds, made here; silent unless switched on.

let audio = null;

/** The sound of a move: lower for a capture. */
export function click(capture) {
  if (localStorage.getItem("damas.sound") !== "on") return;
  audio ??= new AudioContext();
  const tone = audio.createOscillator();
  const volume = audio.createGain();
  tone.type = "triangle";
  tone.frequency.value = capture ? 210 : 330;
  volume.gain.setValueAtTime(0.25, audio.currentTime);
  volume.gain.exponentialRampToValueAtTime(0.001, audio.currentTime + 0.12);
  tone.connect(volume).connect(audio.destination);
  tone.start();
  tone.stop(audio.currentTime + 0.13);
}
