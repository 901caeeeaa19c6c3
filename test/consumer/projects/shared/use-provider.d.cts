/** Untyped on purpose: the projects check the package's types themselves. */
export function useProvider(exports: object, db: object): Promise<void>;
