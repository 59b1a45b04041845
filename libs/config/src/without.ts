/** Arguments for `refine` that report a fault of several variables, even when others are wrong by themselves. */
export function without(faultOf: (env: unknown) => string | undefined) {
  const error = ({ input }: { input?: unknown }): string | undefined => faultOf(input);
  return [(env: unknown): boolean => faultOf(env) === undefined, { error, when: () => true }] as const;
}
