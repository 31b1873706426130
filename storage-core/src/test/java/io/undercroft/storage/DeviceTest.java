package io.undercroft.storage;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class DeviceTest {
    @ParameterizedTest
    @ValueSource(strings = {"cpu", "meta", "cuda", "cuda:0", "cuda:15", "mps", "xpu:1", "privateuseone"})
    void devicesAreWrittenAndParsedAsInPyTorch(String text) {
        assertThat(Device.parse(text)).hasToString(text).isEqualTo(Device.parse(text));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", ":0", "cuda:", "cuda:-1", "cuda:x", "cuda:1:2", "CUDA", "cuda 0", "cuda:9999999999"})
    void whatIsNoDeviceIsRefused(String text) {
        assertThatThrownBy(() -> Device.parse(text)).isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("'" + text + "'");
    }

    @Test
    void usingADeviceThatIsNotHereNamesThoseThatAre() {
        assertThatThrownBy(() -> Tensor.of(1f).to(Device.parse("gpu:0"))).isInstanceOf(IllegalStateException.class)
                .hasMessageStartingWith("there is no device gpu:0 here, only cpu").hasMessageContaining("cuda");
        assertThatThrownBy(() -> Device.parse("cuda:")).hasMessageEndingWith("write for instance cuda:0");
    }

    @Test
    void kindsOfDevicesCanBeAskedFor() {
        assertThat(Device.parse("cpu")).isEqualTo(Device.CPU);
        assertThat(Device.CPU.isCpu()).isTrue();
        assertThat(Device.META.isMeta()).isTrue();
        assertThat(Device.cuda(1)).isEqualTo(Device.parse("cuda:1"));
        assertThat(Device.cuda(1).isCuda()).isTrue();
        assertThatThrownBy(() -> new Device("cuda", -2)).isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("-2");
        assertThatThrownBy(() -> new Device("Not a word", 0)).isInstanceOf(IllegalArgumentException.class);
    }
}
