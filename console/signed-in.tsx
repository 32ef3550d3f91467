import { Screen } from './components/screen.tsx';
import { texts } from './state.ts';

export function SignedIn() {
  return <Screen title={texts().about}>…</Screen>;
}
