// Pods by load: the ingress by Kubernetes' own autoscaler, workers by KEDA as far as it runs here.
import { setTimeout as delay } from 'node:timers/promises';
import { Fault, until } from '../../../scripts/lib/process.mjs';
import { FULL_NAME, judged, underLoad } from '../release.mjs';

const SCALED_MS = 180_000;
const [LEAST, MOST] = [2, 4];
/** A share of the requested CPU: two pods need more than that for the load, and four need less. */
const PERCENT = 20;
const INGRESS = {
  autoscaling: {
    enabled: true,
    minReplicas: LEAST,
    maxReplicas: MOST,
    targetCPUUtilizationPercentage: PERCENT,
    behavior: { scaleDown: { stabilizationWindowSeconds: 15 } },
  },
};

export const autoscalingGroups = {
  async 'ingress scaled by its CPU'({ relay }) {
    const isSo = (test, words) => async () => {
      if (
        !(await until(
          async () => test((await relay.ready('ingress')).length) || (await delay(2_000, false)),
          SCALED_MS,
        ))
      )
        throw new Fault(`${words} in ${SCALED_MS / 1000} s: ${await relay.kubectl('describe', 'hpa')}`);
    };
    await relay.helm('upgrade', { changes: { ingressApp: INGRESS } });
    const load = await relay.load({ rate: 200 });
    let since = Date.now();
    const seconds = () => Math.round((Date.now() - since) / 1000);
    let up;
    let found;
    try {
      await isSo((count) => count > LEAST, 'not scaled up')();
      up = seconds();
    } finally {
      found = await load.stop();
    }
    since = Date.now();
    await isSo((count) => count === LEAST, 'not scaled down')();
    const down = seconds();
    await underLoad(relay, () => relay.helm('upgrade'));
    return `more than ${LEAST} pods after ${up} s of 200/s, ${LEAST} again ${down} s after it; ${judged(found)}`;
  },
  async 'workers scaled by KEDA: its operator takes the ScaledObject'({ keda, relay }) {
    const printed = await keda();
    const worker = { keda: { enabled: true, minReplicaCount: LEAST, maxReplicaCount: MOST } };
    await relay.helm('upgrade', { changes: { worker } });
    const name = `${FULL_NAME}-worker`;
    let conditions;
    const isReady = async () => {
      const { status = {} } = await relay.json('get', 'scaledobject', name);
      conditions = status.conditions ?? [];
      return (
        conditions.some(({ type, status: is }) => type === 'Ready' && is === 'True') || (await delay(1_000, false))
      );
    };
    if (!(await until(isReady, 60_000))) throw new Fault(`${JSON.stringify(conditions)}\n${printed().slice(-3000)}`);
    const { spec } = await relay.json('get', 'hpa', `keda-hpa-${name}`);
    const lag = spec.metrics.map(({ external }) => `${external.metric.name} of ${external.target.averageValue}`);
    await relay.helm('upgrade');
    return `ready, with its login at Kafka; autoscaler made for ${spec.minReplicas} to ${spec.maxReplicas} pods by ${lag.join(', ')}`;
  },
};
