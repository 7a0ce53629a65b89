export default function Page() { return <main class="page" id="main" />; }
