import { render } from 'preact';
import { Button, Link, Notice, Screen, Shell, follow, guardTyped, place } from '@relay/ui';
import { Add } from './add.js';
import { Deliveries } from './deliveries.js';
import { Events } from './events.js';
import { Overview } from './overview.js';
import { Replays } from './replays.js';
import { enter, followLinks, leave, outside, session } from './session.js';
import { Verify } from './verify.js';
import { TABS, Webhook } from './webhook.js';

const SECTIONS = [
  { name: 'Webhooks', path: [], also: ['webhooks', 'add'] },
  { name: 'Deliveries', path: ['deliveries'] },
  { name: 'Replays', path: ['replays'] },
  { name: 'Events', path: ['events'] },
  { name: 'Verify', path: ['verify'] },
];

function Here() {
  const [section, id, third, fourth] = place.value.path;
  const tab = TABS.find((each) => each === (third ?? 'overview'));
  // The key contains the cursor, so each page of a list is a new screen that starts at its top.
  if (section === undefined) return <Overview key={`overview ${place.value.query['cursor'] ?? ''}`} />;
  if (section === 'add') return <Add key="add" />;
  if (section === 'webhooks' && id !== undefined && tab !== undefined)
    return <Webhook key={`webhook ${id}`} id={id} tab={tab} envelopeId={fourth} />;
  if (section === 'deliveries')
    return <Deliveries key={`deliveries ${place.value.query['cursor'] ?? ''}`} envelopeId={id} webhookId={third} />;
  if (section === 'replays') return <Replays key="replays" />;
  if (section === 'events') return <Events key="events" />;
  if (section === 'verify') return <Verify key="verify" />;
  return (
    <Screen key="unknown" title="There is no such page">
      <p>
        <Link to={[]}>Back to the webhooks</Link>
      </p>
    </Screen>
  );
}

function Portal() {
  if (session.value === undefined)
    return (
      <Shell>
        <Screen key={outside.value.title} title={outside.value.title}>
          <Notice kind="info">
            <p>{outside.value.words}</p>
          </Notice>
        </Screen>
      </Shell>
    );
  return (
    <Shell
      sections={SECTIONS}
      aside={
        <>
          {session.value.access === 'read' && <span class="quiet">read only</span>}
          <Button name="Sign out" run={() => void leave()} />
        </>
      }
    >
      <Here />
    </Shell>
  );
}

const root = document.querySelector('#app');
if (root !== null) render(<Portal />, root);
guardTyped();
followLinks();
await enter();
follow();
