/** Waits. By the global timer, which a spec can turn, and not by `node:timers/promises`. */
export const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
