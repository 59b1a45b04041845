import { render } from 'preact';
import { follow, Screen, Shell } from '@relay/ui';

function Portal() {
  return (
    <Shell name="Webhooks" sections={[{ name: 'Overview', path: [] }]}>
      <Screen title="Overview">
        <p>You need a link to come in. Your service makes one for you.</p>
      </Screen>
    </Shell>
  );
}

follow();
const root = document.querySelector('#app');
if (root !== null) render(<Portal />, root);
