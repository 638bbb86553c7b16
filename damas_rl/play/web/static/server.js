// Talking to the server: requests, and news over a WebSocket that comes back when it breaks.

/** A request; throws an Error with the server's sentence. */
export async function request(path, {key, body} = {}) {
  const headers = {"Accept-Language": document.documentElement.lang}; // the language of the page, not of the browser
  if (key) headers.Authorization = `Bearer ${key}`;
  if (body) headers["Content-Type"] = "application/json";
  const answer = await fetch(path, {method: body ? "POST" : "GET", headers, body: body && JSON.stringify(body)});
  const content = await answer.json();
  if (!answer.ok) throw Object.assign(new Error(content.error), {status: answer.status});
  return content;
}

/** The text of a game as PDN. */
export async function pdnOf(key) {
  return (await fetch("/api/game.pdn", {headers: {Authorization: `Bearer ${key}`}})).text();
}

/** News of one game until close() is called. */
export class Live {
  constructor(key, {onNews, onLost, onGone}) {
    Object.assign(this, {key, onNews, onLost, onGone, wait: 500, wanted: null});
    this.open();
  }

  open() {
    this.socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/api/live`);
    this.socket.onopen = () => {
      this.wait = 500;
      this.socket.send(JSON.stringify({key: this.key, language: document.documentElement.lang}));
      if (this.wanted !== null) this.want(this.wanted);
    };
    this.socket.onmessage = event => this.onNews(JSON.parse(event.data));
    this.socket.onclose = event => {
      if (this.closed) return;
      if (event.code === 4404) return this.onGone();
      if (event.code === 4400) this.wanted = null;
      this.onLost();
      this.timer = setTimeout(() => this.open(), this.wait);
      this.wait = Math.min(10000, this.wait * 2);
    };
  }

  /** Asks a mind (null = the usual one) about the position after `ply` plies. */
  analyse(ply, mind) {
    this.want({analyse: ply, mind});
  }

  /** Asks a mind for the value of every position of the game; an analysis that runs ends. */
  review(mind) {
    this.want({review: true, mind});
    this.wanted = null; // it is not begun again when the connection breaks
  }

  /** Asks for no more. */
  rest() {
    this.want({analyse: null});
    this.wanted = null;
  }

  want(wish) {
    this.wanted = wish;
    if (this.socket.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(wish));
  }

  close() {
    this.closed = true;
    clearTimeout(this.timer);
    this.socket.close();
  }
}
