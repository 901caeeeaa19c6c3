type Dropped = symbol | ((...args: never[]) => unknown);

/** A slot of an array or a value on its own: what JSON has no word for becomes `null`. */
type JsonifiedSlot<T> = T extends undefined | Dropped ? null : Jsonified<T>;

/** Keys whose value may be absent from the text: the value is optional then, too. */
type DroppableKeys<T> = { [K in keyof T]-?: Extract<T[K], undefined | Dropped> extends never ? never : K }[keyof T];

type JsonifiedObject<T> = {
  [K in keyof T as K extends string | number ? (K extends DroppableKeys<T> ? never : K) : never]: Jsonified<T[K]>;
} & {
  [
    K in keyof T as K extends DroppableKeys<T> & (string | number)
      ? [Exclude<T[K], undefined | Dropped>] extends [never]
        ? never
        : K
      : never
  ]?: Jsonified<Exclude<T[K], undefined | Dropped>>;
};

type Flat<T> = { [K in keyof T]: T[K] };

/**
 * What arrives of a `T` that was stored as JSON: a `Date` is a `string`, a `Map` or `Set` is
 * `{}`, methods are gone, and a `bigint`, which is refused, is `never`. For the types of what is
 * passed on: `orchestration('order', async (ctx, order: Jsonified<Order>) => …)`.
 */
export type Jsonified<T> = 0 extends 1 & T
  ? T
  : unknown extends T
    ? T
    : T extends { toJSON(...args: never[]): infer Text }
      ? Jsonified<Text>
      : T extends string | number | boolean | null
        ? T
        : T extends undefined
          ? null
          : T extends bigint | Dropped
            ? never
            : T extends readonly unknown[]
              ? { [K in keyof T]: JsonifiedSlot<T[K]> }
              : T extends ReadonlyMap<unknown, unknown> | ReadonlySet<unknown>
                ? Record<string, never>
                : T extends object
                  ? Flat<JsonifiedObject<T>>
                  : never;
