// A tool of the benchmark as a process of its own, so that its CPU time is counted apart: one request at a time over IPC.
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { node24 } from '../lib/paths.mjs';
import { end, Fault, isAlive } from '../lib/process.mjs';

/** Starts `<name>.mjs` beside this file or another one; `ask(call, args)` resolves with what its handler of that name returns. */
export function startTool(name, beside = import.meta.url) {
  const child = fork(fileURLToPath(new URL(`${name}.mjs`, beside)), {
    execPath: node24,
    detached: true, // Ctrl-C in the terminal reaches the benchmark, which ends its tools
    serialization: 'advanced',
  });
  let open;
  const settle = (outcome) => {
    const asked = open;
    open = undefined;
    outcome(asked);
  };
  child.on('message', ({ result, fault }) =>
    settle((asked) => (fault ? asked?.fail(new Fault(`${name}: ${fault}`)) : asked?.done(result))),
  );
  child.on('exit', () => settle((asked) => asked?.fail(new Fault(`the ${name} tool ended`))));
  const ask = (call, args) =>
    new Promise((done, fail) => {
      open = { done, fail };
      if (!child.connected) return fail(new Fault(`the ${name} tool ended`));
      child.send({ call, args });
    });
  return { pid: child.pid, ask, stop: () => isAlive(child.pid) && end(child.pid, 2000) };
}

/** Runs in the tool: answers each question by the handler of its name, and ends with the benchmark. */
export function answer(handlers) {
  process.on('disconnect', () => process.exit());
  const reply = (message) => process.connected && process.send(message);
  process.on('message', ({ call, args }) => {
    Promise.resolve(handlers[call](args)).then(
      (result) => reply({ result }),
      (error) => reply({ fault: error.message }),
    );
  });
}

/** Milliseconds on the clock that all processes of this machine share. */
export const now = () => {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1e3 + nanoseconds / 1e6;
};
