import type { Problem } from '../api/request.ts';
import { Form } from '../components/form.tsx';
import { Screen } from '../components/screen.tsx';
import { navigate } from '../navigation.ts';
import { userPath } from '../route.ts';
import { language, send, texts } from '../state.ts';
import { fill } from '../text.ts';
import { UserFormFields, userFieldsOf } from './user-form.tsx';

export function NewUser() {
  const t = texts();
  const save = async (values: FormData): Promise<Problem | undefined> => {
    const answer = await send('POST /api/users', { body: userFieldsOf(values) });
    if (!answer.ok) return answer.problem;
    const { login } = answer.data;
    await navigate(userPath(login), { saved: true, say: fill(t.userCreated, { login }) });
    return undefined;
  };
  return (
    <Screen title={t.newUser}>
      <p>{t.invite}</p>
      <Form submit={t.createUser} onSave={save} draft={{ name: 'user' }}>
        <UserFormFields user={{ langKey: language.value }} />
      </Form>
    </Screen>
  );
}
