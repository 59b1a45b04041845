interface Request {
  readonly name: string;
  readonly step: () => Promise<unknown>;
  readonly done: (result: unknown) => void;
  readonly fail: (error: Error) => void;
  /** Set once it has arrived. */
  result: Promise<unknown> | undefined;
}

/**
 * A worker's connection to a store. Requests arrive in the order they were sent and are answered in that order, each of
 * the two when the history says so; what was sent before the connection broke may have arrived or not, or arrives late.
 */
export class Connection {
  #requests: Request[] = [];
  #state: 'up' | 'down' | 'dead' = 'up';

  /**
   * @param resends whether the driver sends again after a reconnection what was not answered (BullMQ's connection),
   *   or fails it (the scripts')
   */
  constructor(
    private readonly name: string,
    private readonly resends: boolean,
    private readonly trace: (line: string) => void,
  ) {}

  get isUp(): boolean {
    return this.#state === 'up';
  }

  /** Nothing is on its way. */
  get isQuiet(): boolean {
    return this.#state === 'dead' || this.#requests.length === 0;
  }

  call<T>(name: string, step: () => Promise<T>): Promise<T> {
    return new Promise((done, fail) => {
      if (this.#state === 'down' && !this.resends) fail(new Error('the connection is down'));
      else if (this.#state !== 'dead')
        this.#requests.push({ name, step, done: done as (result: unknown) => void, fail, result: undefined });
    });
  }

  arrive(count = Infinity): void {
    if (this.#state !== 'up') return;
    for (const request of this.#requests.filter(({ result }) => result === undefined).slice(0, count))
      this.#apply(request);
  }

  answer(count = Infinity): void {
    if (this.#state !== 'up') return;
    while (count > 0 && this.#requests[0]?.result !== undefined) {
      const { done, result } = this.#requests.shift() as Request;
      done(result);
      count -= 1;
    }
  }

  /** The store refuses what comes next, as one that is full does. */
  refuse(): void {
    const index = this.#requests.findIndex(({ result }) => result === undefined);
    if (this.#state !== 'up' || index < 0) return;
    const [request] = this.#requests.splice(index, 1);
    this.trace(`${this.name} ${request?.name} is refused`);
    request?.fail(new Error('the store refused'));
  }

  /** The caller gives the oldest request up, although it may arrive all the same. */
  timeOut(): void {
    const [request] = this.#requests;
    if (this.#state !== 'up' || this.resends || request === undefined) return;
    this.trace(`${this.name} ${request.name} times out`);
    request.fail(new Error('no answer in time'));
  }

  /** Breaks; the first requests still arrive. Returns the others, which a half-open connection may bring late. */
  cut(arriving = 0): (() => void)[] {
    if (this.#state !== 'up') return [];
    this.arrive(arriving);
    this.#state = 'down';
    const onTheWay = this.#requests.filter(({ result }) => result === undefined);
    if (this.resends) {
      for (const request of this.#requests) request.result = undefined;
    } else {
      for (const { fail } of this.#requests.splice(0)) fail(new Error('the connection broke'));
    }
    return onTheWay.map((request) => () => {
      this.trace(`${this.name} ${request.name} arrives late`);
      void request.step();
    });
  }

  reconnect(): void {
    if (this.#state === 'down') this.#state = 'up';
  }

  /** The process is gone; the first requests still arrive. */
  die(arriving: number): void {
    this.arrive(arriving);
    this.#state = 'dead';
  }

  #apply(request: Request): void {
    this.trace(`${this.name} ${request.name}`);
    request.result = request.step();
  }
}
