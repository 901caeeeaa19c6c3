/** Untyped on purpose: the projects check the package's types themselves. */
export function useKit(exports: object, kit: object, options?: object): Promise<void>;
