/** Waits by the global timer, which a spec can control, unlike `node:timers/promises`. */
export const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
