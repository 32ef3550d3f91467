/** The generated client needs this type of the DOM, which Node's types do not declare globally. */
type BodyInit = NonNullable<RequestInit['body']>;
