import { Refused, waitOf, wordsOf } from '@relay/ui';
import { useEffect, useState } from 'preact/hooks';
import { type Answer, api, type Calls } from './session.js';

export type Definition = Calls['putEventType']['data']['body'];

/** Milliseconds without a key after which the relay is asked. */
const PAUSE_MS = 400;

interface PointedFault {
  /** JSON Pointer into the definition. */
  readonly pointer: string;
  readonly detail: string;
}

/** Answer of the relay about a definition that is being typed. */
interface Check {
  /** Effect of the definition; undefined while it has faults or is not checked. */
  readonly change: Answer<'applyEventTypes'>['changes'][number] | undefined;
  readonly faults: readonly PointedFault[];
  /** Why the relay cannot check now; its last answer stays. */
  readonly away: string;
}

/**
 * Has the relay check a definition whenever the reader pauses. The relay changes nothing.
 * @param definition as JSON; undefined while a part of it cannot be read
 */
export function useCheck(name: string, definition: string | undefined): Check {
  const [check, setCheck] = useState<Check>({ change: undefined, faults: [], away: '' });
  useEffect(() => {
    if (definition === undefined || name === '') return undefined;
    let isOld = false;
    const ask = async (): Promise<void> => {
      const eventTypes = { [name]: JSON.parse(definition) as Definition };
      try {
        const { changes } = await api.call('applyEventTypes', { body: { eventTypes, dryRun: true } });
        if (!isOld) setCheck({ change: changes[0], faults: [], away: '' });
      } catch (error) {
        if (isOld) return;
        const waitMs = waitOf(error);
        if (waitMs === undefined) setCheck({ change: undefined, faults: faultsIn(error, name), away: '' });
        else {
          setCheck((before) => ({ ...before, away: wordsOf(error) }));
          timer = setTimeout(() => void ask(), waitMs);
        }
      }
    };
    let timer = setTimeout(() => void ask(), PAUSE_MS);
    return () => {
      isOld = true;
      clearTimeout(timer);
    };
  }, [name, definition]);
  return check;
}

/** The faults of one definition; a refusal without any is itself the fault. */
function faultsIn(error: unknown, name: string): PointedFault[] {
  const errors = error instanceof Refused ? (error.problem.errors ?? []) : [];
  if (errors.length === 0) return [{ pointer: '', detail: wordsOf(error) }];
  const place = `/eventTypes/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
  return errors.map(({ pointer, detail }) => ({
    pointer: pointer.startsWith(place) ? pointer.slice(place.length) : pointer,
    detail: detail.startsWith(`${name}: `) ? detail.slice(name.length + 2) : detail,
  }));
}
