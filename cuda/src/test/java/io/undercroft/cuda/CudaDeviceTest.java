package io.undercroft.cuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.undercroft.storage.Device;
import io.undercroft.storage.Storage;
import org.junit.jupiter.api.Test;

/// What is told about devices, over the stand-in for the driver.
@NeedsStandIn
class CudaDeviceTest {
    @Test
    void aDeviceSaysWhatItIs() {
        assertThat(CudaDevice.isAvailable()).isTrue();
        assertThat(CudaDevice.unavailability()).isEmpty();
        assertThat(CudaDevice.count()).isEqualTo(4);
        assertThat(CudaDevice.driverVersion()).isEqualTo("12.4");
        CudaDevice second = CudaDevice.all().get(1);
        assertThat(second).isEqualTo(CudaDevice.of(1)).hasSameHashCodeAs(CudaDevice.of(1))
                .isNotEqualTo(CudaDevice.of(0));
        assertThat(second.device()).isEqualTo(Device.cuda(1));
        assertThat(second.name()).isEqualTo("Test stand-in 1 (no GPU)");
        assertThat(second.computeCapability()).isEqualTo("9.0");
        assertThat(second.pciId()).isEqualTo("0000:18:00.0");
        assertThat(second.totalMemory()).isEqualTo(8L << 30);
        assertThat(second).hasToString("cuda:1 (Test stand-in 1 (no GPU))");
    }

    @Test
    void freeMemoryShrinksByWhatIsAllocated() {
        CudaDevice device = CudaDevice.of(2);
        long before = device.freeMemory();
        Storage there = Storage.allocate(1 << 20).to(device.device());
        assertThat(device.freeMemory()).isEqualTo(before - (1 << 20));
        there.release();
    }

    @Test
    void anIndexThatIsOutOfRangeSaysHowManyThereAre() {
        for (int index : new int[]{4, 1000}) {
            assertThatThrownBy(() -> Storage.copyOf((byte) 1).to(Device.cuda(index)))
                    .isInstanceOfSatisfying(CudaException.class, e -> {
                        assertThat(e.code()).isEqualTo(CudaException.INVALID_DEVICE);
                        assertThat(e.name()).isEqualTo("CUDA_ERROR_INVALID_DEVICE");
                    })
                    .hasMessageContaining("there is no cuda:" + index + " here, but 4 CUDA devices, cuda:0 to cuda:3");
        }
        assertThatThrownBy(() -> CudaDevice.of(-1)).isInstanceOf(CudaException.class);
    }

    @Test
    void whoAsksForADeviceOfAnotherKindIsToldWhichThereAre() {
        assertThatThrownBy(() -> Storage.copyOf((byte) 1).to(Device.parse("xpu:0")))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageStartingWith("there is no device xpu:0 here, only cpu, cuda:0, cuda:1, cuda:2, cuda:3;");
    }
}
