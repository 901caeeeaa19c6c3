import type { Token } from './driver.js';

/** One subscription, from its binding to an event id until it is served or cancelled. */
interface Wait {
  readonly token: Token;
  readonly eventId: number;
  /** The token that came next when the code dropped it, which cancels it only later. */
  droppedAt: Token | undefined;
  served: boolean;
  /** Reported as ready, and not yet held back again. */
  announced: boolean;
}

/** A wait that can be served; its value is read at the moment of delivery. */
export interface ReadyWait {
  readonly token: Token;
  readonly name: string;
  readonly eventId: number;
}

interface Arrival {
  readonly data: string;
  /** Order over all names. */
  readonly sequence: number;
}

/**
 * The subscriptions and arrivals of one name, matched by position: a subscription reads
 * the arrival whose number is the count of subscriptions before it that are not cancelled.
 * Positional events and mailboxes share this rule (runtime.md 3.4, 3.5); they differ in
 * whether an arrival that finds nobody is kept, which the caller decides.
 *
 * A cancellation shifts everything behind it, so a later subscription may come to read an
 * arrival that was meant for a dead one. That is native's behaviour and visible in
 * histories (D-14).
 */
class NamedWaits {
  /** Not cancelled, in order; a prefix that is served is left out, in both lists. */
  private readonly active: Wait[] = [];
  private readonly arrivals: Arrival[] = [];
  constructor(private readonly announce: (wait: Wait) => void) {}

  get hasFreeSlot(): boolean {
    return this.active.length > this.arrivals.length;
  }

  get hasDropped(): boolean {
    return this.active.some((wait) => wait.droppedAt !== undefined);
  }

  /** Arrivals that the code has not received: as many as it has are taken off the oldest. */
  get unreceived(): Arrival[] {
    return this.arrivals.slice(this.active.filter((wait) => wait.served).length);
  }

  get retainedBytes(): number {
    let bytes = this.active.length * 64;
    for (const { data } of this.arrivals) bytes += data.length * 2 + 48;
    return bytes;
  }

  bind(wait: Wait): boolean {
    this.active.push(wait);
    return this.announceAt(this.active.length - 1);
  }

  arrive(arrival: Arrival): void {
    this.arrivals.push(arrival);
    this.announceAt(this.arrivals.length - 1);
  }

  markDropped(eventId: number, droppedAt: Token): void {
    const wait = this.active.findLast((candidate) => candidate.eventId === eventId);
    if (wait) wait.droppedAt = droppedAt;
  }

  cancel(eventId: number): boolean {
    const at = this.active.findLastIndex((wait) => wait.eventId === eventId);
    const droppedAt = this.active[at]?.droppedAt ?? 0;
    if (at < 0) return false;
    this.active.splice(at, 1);
    let released = false;
    for (let i = at; i < this.active.length && i < this.arrivals.length; i++) {
      const wait = this.active[i];
      if (wait && !wait.announced && this.announceAt(i)) released ||= wait.token < droppedAt;
    }
    this.forgetServed();
    return released;
  }

  /** Takes the value for a wait that was announced; `undefined` when it was cancelled or is held back. */
  serve(eventId: number, holdBack: boolean): string | undefined {
    const at = this.active.findIndex((wait) => wait.eventId === eventId);
    const wait = this.active[at];
    const arrival = this.arrivals[at];
    if (!wait || !arrival) return undefined;
    if (holdBack && this.active.slice(0, at).some(({ droppedAt = 0 }) => droppedAt > wait.token)) {
      wait.announced = false;
      return undefined;
    }
    wait.served = true;
    this.forgetServed();
    return arrival.data;
  }

  private announceAt(index: number): boolean {
    const wait = this.active[index];
    if (!wait || wait.served || index >= this.arrivals.length) return false;
    if (!wait.announced) {
      wait.announced = true;
      this.announce(wait);
    }
    return true;
  }

  /**
   * A served prefix can never be shifted again, because only open subscriptions are
   * cancelled, so its arrivals are not needed any more. One that was dropped but not yet
   * cancelled keeps all that follow, since they may be read again.
   */
  private forgetServed(): void {
    let served = 0;
    while (served < this.arrivals.length && this.active[served]?.served) served++;
    if (served === 0) return;
    this.active.splice(0, served);
    this.arrivals.splice(0, served);
  }
}

/** All subscriptions of one sort (positional events, or mailboxes) of an execution. */
export class Waits {
  private readonly byName = new Map<string, NamedWaits>();
  private readonly nameOf = new Map<number, string>();
  private ready: ReadyWait[] = [];
  private sequence = 0;

  /**
   * `holdBack`: a subscription that stands behind one which was dropped after its own
   * emission waits for the cancellation. Without it, it would take the message after the
   * one that is due to it, and that one would be lost. Native has no such rule; only
   * several waits of one mailbox at once can tell, which its Node API cannot write.
   */
  constructor(private readonly holdBack: boolean) {}

  /** Whether the subscription can be served at once. */
  bind(name: string, wait: { token: Token; eventId: number; droppedAt: Token | undefined }): boolean {
    this.nameOf.set(wait.eventId, name);
    let waits = this.byName.get(name);
    if (!waits) this.byName.set(name, (waits = this.newName(name)));
    return waits.bind({ ...wait, served: false, announced: false });
  }

  arrive(name: string, data: string): void {
    let waits = this.byName.get(name);
    if (!waits) this.byName.set(name, (waits = this.newName(name)));
    waits.arrive({ data, sequence: this.sequence++ });
  }

  /** Whether somebody waits for one more arrival of the name (the slot test of runtime.md 3.4). */
  hasFreeSlot(name: string): boolean {
    return this.byName.get(name)?.hasFreeSlot ?? false;
  }

  /** Whether a subscription of the name was dropped and still takes part in the counting. */
  hasDropped(name: string): boolean {
    return this.byName.get(name)?.hasDropped ?? false;
  }

  /** The code has lost interest; the subscription keeps its place until it is cancelled. */
  markDropped(eventId: number, droppedAt: Token): void {
    this.find(eventId)?.markDropped(eventId, droppedAt);
  }

  /**
   * The subscription has no place any more. Answers whether another one became ready by it
   * that is older than the drop: the code must be polled for that one, as it was when the
   * drop was recorded. (One that is younger is ready when it is bound, or in native's
   * histories stays unpolled until the next event.)
   */
  cancel(eventId: number): boolean {
    const released = this.find(eventId)?.cancel(eventId) ?? false;
    this.nameOf.delete(eventId);
    return released;
  }

  /** Waits that became ready since the last call, in no order. */
  takeReady(): readonly ReadyWait[] {
    if (this.ready.length === 0) return this.ready;
    const ready = this.ready;
    this.ready = [];
    return ready;
  }

  /** The value for a ready wait; `undefined` when it cannot have one now. */
  serve({ eventId }: ReadyWait): string | undefined {
    const data = this.find(eventId)?.serve(eventId, this.holdBack);
    if (data !== undefined) this.nameOf.delete(eventId);
    return data;
  }

  /** What the code has not received, of all names, in the order of arrival. */
  unreceived(): (readonly [name: string, data: string])[] {
    const found = [...this.byName].flatMap(([name, waits]) =>
      waits.unreceived.map((arrival) => ({ name, ...arrival })),
    );
    return found.sort((a, b) => a.sequence - b.sequence).map(({ name, data }) => [name, data] as const);
  }

  get retainedBytes(): number {
    let bytes = this.nameOf.size * 64;
    for (const [name, waits] of this.byName) bytes += name.length * 2 + 128 + waits.retainedBytes;
    return bytes;
  }

  private find(eventId: number): NamedWaits | undefined {
    const name = this.nameOf.get(eventId);
    return name === undefined ? undefined : this.byName.get(name);
  }

  private newName(name: string): NamedWaits {
    return new NamedWaits(({ token, eventId }) => this.ready.push({ token, name, eventId }));
  }
}
