// Checks the settings and labels of the image, and its size. Each check answers with its figure or throws what is wrong.
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { Fault } from '../../scripts/lib/process.mjs';

const PREFIX = 'org.opencontainers.image.';
const UNPACKED_MB = 250;
const COMPRESSED_MB = 90;

/** Arguments of the build and the labels that follow from them. */
export function labelsOf(revision) {
  const created = new Date().toISOString();
  return {
    args: { VERSION: '0.0.0-test', REVISION: revision, CREATED: created },
    expected: { version: '0.0.0-test', revision, created, licenses: 'Apache-2.0', title: 'Partner Relay' },
  };
}

export const manifestChecks = {
  async 'runs as 65532, with an init, ports and HEALTHCHECK'({ config: { User, Config, HealthCheck, Healthcheck } }) {
    const health = HealthCheck ?? Healthcheck ?? Config.Healthcheck;
    if (User !== '65532:65532') throw new Fault(`the user is ${User}`);
    if (!Config.Entrypoint[0].endsWith('tini')) throw new Fault(`the entry point is ${Config.Entrypoint}`);
    if (!health?.Test?.join(' ').includes('healthy.mjs')) throw new Fault('there is no HEALTHCHECK');
    return `${User}, ${Object.keys(Config.ExposedPorts).join(' ')}, every ${health.Interval / 1e9} s ${health.Test.join(' ')}`;
  },
  async labels({ config, labels }) {
    for (const [name, value] of Object.entries(labels.expected))
      if (config.Labels?.[PREFIX + name] !== value) throw new Fault(`${name} is ${config.Labels?.[PREFIX + name]}`);
    return Object.keys(config.Labels).filter((name) => name.startsWith(PREFIX)).length;
  },
  async 'size unpacked'({ config }) {
    return atMost(config.Size / 1e6, UNPACKED_MB);
  },
  async 'size compressed'({ podman, image, home }) {
    const archive = join(home, 'image.oci.tar');
    await podman.call(['save', '--quiet', '--format=oci-archive', '--output', archive, image]);
    return atMost(statSync(archive).size / 1e6, COMPRESSED_MB);
  },
};

function atMost(megabytes, limit) {
  const said = `${megabytes.toFixed(0)} MB, goal ${limit} MB`;
  if (megabytes > limit) throw new Fault(said);
  return said;
}
