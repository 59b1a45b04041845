/** The runbooks in docs/operations, which `scripts/lib/pages.mjs` finds. */
declare module '*/runbooks.md' {
  const text: string;
  export default text;
}
